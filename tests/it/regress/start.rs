//! Starting while another daemon exits.

use std::fs::File;
use std::os::unix::net::{UnixListener, UnixStream};

use insta::assert_snapshot;

use crate::env::{Env, show};

#[test]
fn a_daemon_being_killed_does_not_count_as_running() {
    let env = Env::new();
    let data = env.create_data();
    // For a moment, a killed daemon still has its lock, socket and process, but no longer answers.
    let lock = File::create(data.join("murmur.pid")).unwrap();
    lock.lock().unwrap();
    let socket = UnixListener::bind(data.join("murmur.sock")).unwrap();
    let start = env.murmur(["start"]).start();
    let output = std::thread::scope(|scope| {
        let ended = scope.spawn(|| {
            let output = start.wait_with_output().unwrap();
            // A client that never sent a request leaves nobody waiting below.
            drop(UnixStream::connect(data.join("murmur.sock")));
            output
        });
        let (connection, _) = socket.accept().unwrap();
        drop((connection, socket, lock));
        ended.join().unwrap()
    });
    assert_snapshot!(show(&output), @"
    murmur is running (PID [PID])
    [exit 0]
    ");
    assert_snapshot!(env.run(["stop"]), @"
    murmur stopped (PID [PID])
    [exit 0]
    ");
}
