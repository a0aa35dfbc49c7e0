//! murmur as process 1 of a container, as far as that needs no container, and the examples in packaging/.
//! tests/container/run builds and tests images.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::Value;

use crate::env::{Env, MURMUR, programs};

/// Makes the following command process 1 of its own PID namespace.
const UNSHARE: [&str; 7] =
    ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc", MURMUR];

/// Whether that is possible here. A test for which it isn't prints a note and passes; tests/container always has it.
fn has_namespaces() -> bool {
    let mut tried = Command::new("unshare");
    tried.env("PATH", programs()).args(&UNSHARE[..6]).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
    let has = tried.status().is_ok_and(|status| status.success());
    if !has {
        eprintln!("murmur was not tested as process 1: PID namespaces are not available here");
    }
    has
}

/// `murmur run` as process 1, with a shell that runs `script`.
fn first_process(env: &Env, script: &str) -> String {
    let command = ["run", "--", "/bin/sh", "-c", script];
    env.program("unshare", UNSHARE.into_iter().chain(command)).run()
}

#[test]
fn process_1_reaps_orphans() {
    if !has_namespaces() {
        return;
    }
    let env = Env::new();
    // The kernel doesn't announce that a process was reaped, so the shell polls.
    let script = r#"
        orphan=$(sh -c 'sh -c "echo \$\$" &')
        while [ -e /proc/$orphan ]; do :; done
        echo "reaped"; exit 3
    "#;
    assert_snapshot!(first_process(&env, script), @"
    reaped
    [exit 3]
    ");
}

#[test]
fn process_1_forwards_signals_and_exits_like_murmur() {
    if !has_namespaces() {
        return;
    }
    let env = Env::new();
    assert_snapshot!(first_process(&env, "kill -TERM 1; exec sleep 600"), @"[exit 143]");
    assert_snapshot!(first_process(&env, "trap 'echo told; exit 4' TERM; kill -TERM 1; while :; do :; done"), @"
    told
    [exit 4]
    ");
}

#[test]
fn remaining_processes_are_terminated_after_murmur() {
    if !has_namespaces() {
        return;
    }
    let env = Env::new();
    let script = r#"
        mkfifo begun never
        (trap 'echo yes >told; exit' TERM; echo >begun; read _ <>never) >/dev/null 2>&1 &
        read _ <begun
    "#;
    assert_snapshot!(first_process(&env, script), @"[exit 0]");
    assert_eq!(fs::read_to_string(env.root().join("told")).unwrap(), "yes\n");
}

#[test]
fn process_1_waits_for_its_child_even_if_sigchld_was_ignored() {
    if !has_namespaces() {
        return;
    }
    let env = Env::new();
    let ignoring = ["env", "--ignore-signal=CHLD", MURMUR, "run", "--"];
    let run =
        |command: &[&'static str]| env.program("unshare", [&UNSHARE[..6], &ignoring, command].concat()).run();
    assert_snapshot!(run(&["/bin/sh", "-c", "exit 3"]), @"[exit 3]");
    // The command runs as it would without us: they are ignored for it, too.
    let said = run(&["grep", "^SigIgn:", "/proc/self/status"]);
    let mask = said.strip_prefix("SigIgn:\t").and_then(|rest| rest.lines().next()).unwrap();
    let children = 1 << (libc::SIGCHLD - 1);
    assert_eq!(u64::from_str_radix(mask, 16).unwrap() & children, children, "{said}");
}

/// The example `packaging/NAME`.
fn example(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(name);
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Nothing else compares them if an image can't be built.
#[test]
fn an_image_is_labeled_with_its_version() {
    let file = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Containerfile")).unwrap();
    let label = concat!("org.opencontainers.image.version=\"", env!("CARGO_PKG_VERSION"), "\"");
    assert!(file.contains(label), "the Containerfile should say {label}");
}

/// Whether murmur accepts these arguments: with `--help` it only prints the usage.
fn is_taken(env: &Env, arguments: &[Value]) {
    let mut arguments: Vec<&str> = arguments.iter().map(|word| word.as_str().unwrap()).collect();
    arguments.push("--help");
    env.murmur(&arguments).assert().success();
}

#[test]
fn the_examples_use_commands_that_murmur_accepts() {
    let env = Env::new();
    let compose = example("compose.yaml");
    let compose = &compose["services"]["murmur"];
    let check = compose["healthcheck"]["test"].as_array().unwrap();
    assert_eq!(check[..2], ["CMD", "/bin/murmur"]);
    is_taken(&env, &check[2..]);
    assert_eq!((&compose["init"], &compose["read_only"]), (&Value::Bool(false), &Value::Bool(true)));

    let job = example("kubernetes/cronjob.yaml");
    assert_eq!((&job["kind"], &job["spec"]["concurrencyPolicy"]), (&"CronJob".into(), &"Forbid".into()));
    let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Never");
    is_taken(&env, pod["containers"][0]["args"].as_array().unwrap());

    let deployment = example("kubernetes/deployment.yaml");
    assert_eq!(
        (&deployment["kind"], &deployment["spec"]["strategy"]["type"]),
        (&"Deployment".into(), &"Recreate".into())
    );
    let daemon = &deployment["spec"]["template"]["spec"]["containers"][0];
    for probe in ["readinessProbe", "livenessProbe"] {
        let command = daemon[probe]["exec"]["command"].as_array().unwrap();
        assert_eq!(command[0], "/bin/murmur");
        is_taken(&env, &command[1..]);
    }
    for pod in [pod, &deployment["spec"]["template"]["spec"]] {
        assert_eq!(pod["securityContext"]["runAsUser"], 1000);
        assert_eq!(pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"], true);
        let names = |list: &Value| {
            let names = list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&pod["volumes"]), names(&pod["containers"][0]["volumeMounts"]));
    }
}
