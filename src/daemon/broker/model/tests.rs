use super::*;
use murmur_core::permit::request::LATE;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

fn request() -> Request {
    let request = json!({
        "agent": "site-1", "session": "s", "toolUseId": "t1", "tool": "Bash", "input": {}, "cwd": "/w",
        "workspace": "/w", "project": "site", "whom": "model", "wait": 20, "hook": "h1",
    });
    serde_json::from_value(request).unwrap()
}

#[tokio::test]
async fn a_hook_that_times_out_at_the_same_moment_still_gets_its_answer() {
    let (mut hook, theirs) = UnixStream::pair().unwrap();
    let models = Models::new(&SettingsDir::at("/nowhere".into(), None), BTreeMap::new());
    let line =
        RpcRequest { msg_type: "permission.request".to_owned(), id: "1".to_owned(), payload: Value::Null };
    let serving = tokio::spawn(serve(theirs, line, request(), models));
    let mut said = Vec::new();
    hook.read_to_end(&mut said).await.unwrap();
    let said: Value = serde_json::from_slice(&said).unwrap();
    assert_eq!((&said["id"], &said["payload"]["decision"]), (&json!("1"), &json!("deny")));
    let late = json!({ "msg_type": LATE, "id": "2", "payload": { "mayDefer": false } });
    hook.write_all(format!("{late}\n").as_bytes()).await.unwrap();
    drop(hook);
    serving.await.unwrap();
}
