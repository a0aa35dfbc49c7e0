//! The workflow on GitHub runs recipes, and otherwise only installs what they need.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::root;

fn workflow() -> Value {
    serde_saphyr::from_str(&fs::read_to_string(root().join(".github/workflows/ci.yml")).unwrap()).unwrap()
}

/// The steps of a job.
fn steps(job: &Value) -> &[Value] {
    job["steps"].as_array().unwrap()
}

/// The systems that a job runs on.
fn systems(job: &Value) -> Vec<&str> {
    match job["runs-on"].as_str().unwrap() {
        "${{ matrix.os }}" => job["strategy"]["matrix"]["os"]
            .as_array()
            .unwrap()
            .iter()
            .map(|os| os.as_str().unwrap())
            .collect(),
        os => vec![os],
    }
}

#[test]
fn every_job_runs_one_recipe_on_its_system() {
    let workflow = workflow();
    let jobs = workflow["jobs"].as_object().unwrap();
    let mut runs: Vec<(&str, &str)> = Vec::new();
    for job in jobs.values() {
        let (last, before) = steps(job).split_last().unwrap();
        let recipe = last["run"].as_str().unwrap();
        runs.extend(systems(job).into_iter().map(|os| (recipe, os.split_once('-').unwrap().0)));
        for step in before {
            let name = step["name"].as_str().unwrap_or_default();
            let is_install = name.starts_with("Install ") || name.starts_with("Allow ");
            let is_checkout = step["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/checkout@"));
            assert!(is_install && step["uses"].is_null() || is_checkout && step["run"].is_null(), "{step}");
        }
        for step in steps(job) {
            assert!(step["continue-on-error"].is_null(), "{step}");
        }
    }
    runs.sort_unstable();
    let expected = [
        ("just check", "macos"),
        ("just check", "ubuntu"),
        ("just check-windows", "windows"),
        ("just flake", "ubuntu"),
    ];
    assert_eq!(runs, expected);
    let justfile = fs::read_to_string(root().join("justfile")).unwrap();
    for recipe in ["check:", "check-windows:", "flake *ARGS:"] {
        assert!(justfile.lines().any(|line| line.starts_with(recipe)), "{recipe}");
    }
    assert!(justfile.contains("\n    nix --extra-experimental-features 'nix-command flakes' flake check "));
}

#[test]
fn windows_type_checks_and_tests_derun() {
    let workflow = workflow();
    // Its default shell couldn't read .ci/versions.sh.
    assert_eq!(workflow["jobs"]["windows"]["defaults"]["run"]["shell"], "bash");
    let script = fs::read_to_string(root().join("tests/windows/check.sh")).unwrap();
    let (_, there) = script.split_once("MINGW* | MSYS* | CYGWIN*)\n").unwrap();
    let (there, _) = there.split_once(";;").unwrap();
    let lines: Vec<&str> = there.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let expected = [
        "cargo check --locked --package derun",
        "cargo test --locked --package derun --package murmur-sys --lib",
        "exit",
    ];
    assert_eq!(lines, expected);
    // With other line ends, the shell there couldn't read the script.
    assert!(fs::read_to_string(root().join(".gitattributes")).unwrap().lines().any(|line| line == "* -text"));
}

#[test]
fn jobs_are_read_only_have_timeouts_and_pin_versions() {
    let workflow = workflow();
    assert_eq!(workflow["permissions"], serde_json::json!({ "contents": "read" }));
    assert_eq!(workflow["concurrency"]["cancel-in-progress"], true);
    for job in workflow["jobs"].as_object().unwrap().values() {
        assert!(job["timeout-minutes"].as_u64().is_some_and(|minutes| minutes <= 60));
        assert!(job["permissions"].is_null());
        for step in steps(job) {
            if let Some(uses) = step["uses"].as_str() {
                // A tag can be moved; tests/deny.sh requires the version in a comment after it.
                let commit = uses.split_once('@').map(|(_, commit)| commit);
                let is_hash =
                    |text: &str| text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                assert!(commit.is_some_and(is_hash), "{uses}");
            }
            let run = step["run"].as_str().unwrap_or_default();
            assert!(!run.contains("cargo install") || run.contains("--locked --version "), "{run}");
        }
        for os in systems(job) {
            assert!(!os.ends_with("-latest"), "{os}");
        }
    }
}

#[test]
fn github_and_ci_run_install_the_same_packages() {
    let here = fs::read_to_string(root().join(".ci/run")).unwrap();
    let workflow = workflow();
    let steps = steps(&workflow["jobs"]["check"]);
    let run = |name: &str| steps.iter().find(|step| step["name"] == name).unwrap()["run"].as_str().unwrap();
    let (sourced, just) = run("Install just").split_once(" && ").unwrap();
    let (also_sourced, deny) = run("Install cargo-deny").split_once(" && ").unwrap();
    assert_eq!([sourced, also_sourced], [". .ci/versions.sh"; 2]);
    assert!(here.lines().any(|line| line == sourced) && here.contains(deny), "{here}");
    assert!(just.contains(" \"$just_version\"") && here.contains("\"rust-just==$just_version\""), "{just}");
    let installed: Vec<&str> = here
        .lines()
        .filter_map(|line| line.trim_start_matches("if ").strip_prefix("install "))
        .flat_map(|line| line.split(['|', ';', '&']).next().unwrap().split_whitespace())
        .collect();
    let (_, programs) = run("Install programs on Linux").split_once(" --yes ").unwrap();
    for program in programs.split_whitespace() {
        assert!(installed.contains(&program), "{program} of {installed:?}");
    }
    for program in ["vim", "less", "htop", "fish", "tmux", "jq", "shellcheck"] {
        assert!(programs.split_whitespace().any(|other| other == program), "{program}");
    }
}

#[test]
fn jobs_use_one_rust_version_and_allow_user_namespaces() {
    let workflow = workflow();
    let jobs = workflow["jobs"].as_object().unwrap();
    let step = |job, name: &str| steps(job).iter().find(|step| step["name"] == name);
    let version = |job| {
        let rust = step(job, "Install Rust").unwrap()["run"].as_str().unwrap();
        let named: Vec<&str> = rust.split_whitespace().filter(|word| word.contains('.')).collect();
        let [version, default] = named[..] else { panic!("{rust}") };
        assert_eq!(version, default);
        assert!(rust.starts_with(&format!("rustup toolchain install {version} ")), "{rust}");
        assert!(rust.ends_with(&format!("rustup default {version}")), "{rust}");
        version
    };
    let versions: BTreeSet<&str> = jobs.values().map(version).collect();
    let [version] = versions.into_iter().collect::<Vec<_>>()[..] else { panic!("not one Rust") };
    let numbers: Vec<u32> = version.split('.').map(|number| number.parse().unwrap()).collect();
    let oldest = env!("CARGO_PKG_RUST_VERSION").split('.').map(|number| number.parse().unwrap()).collect();
    assert!(numbers.len() == 3 && numbers >= oldest, "{version}");

    // tests/hermetic.sh and Nix builds use user namespaces, which Ubuntu's AppArmor allows only root.
    for job in ["check", "flake"] {
        let allow = step(&jobs[job], "Allow user namespaces").unwrap();
        assert_eq!(allow["run"], "sudo sysctl --write kernel.apparmor_restrict_unprivileged_userns=0");
        assert!(allow["if"] == "runner.os == 'Linux'" || systems(&jobs[job]) == ["ubuntu-24.04"]);
    }
}
