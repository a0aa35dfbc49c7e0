//! The workflow on GitHub calls `just check`; whatever else it does is installing what that needs.

use std::fs;

use serde_json::Value;

use super::root;

fn workflow() -> Value {
    serde_saphyr::from_str(&fs::read_to_string(root().join(".github/workflows/ci.yml")).unwrap()).unwrap()
}

#[test]
fn what_is_checked_elsewhere_is_just_check_on_linux_and_macos() {
    let workflow = workflow();
    let jobs = workflow["jobs"].as_object().unwrap();
    assert_eq!(jobs.keys().collect::<Vec<_>>(), ["check"]);
    let job = &jobs["check"];
    let systems: Vec<&str> =
        job["strategy"]["matrix"]["os"].as_array().unwrap().iter().map(|os| os.as_str().unwrap()).collect();
    assert!(systems.iter().any(|os| os.starts_with("ubuntu-")), "{systems:?}");
    assert!(systems.iter().any(|os| os.starts_with("macos-")), "{systems:?}");

    let steps = job["steps"].as_array().unwrap();
    let (last, before) = steps.split_last().unwrap();
    assert_eq!(last["run"], "just check");
    for step in before {
        let name = step["name"].as_str().unwrap_or_default();
        let is_install = name.starts_with("Install ") || name.starts_with("Allow ");
        let is_checkout = step["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/checkout@"));
        assert!(is_install && step["uses"].is_null() || is_checkout && step["run"].is_null(), "{step}");
    }
    for step in steps {
        assert!(step["continue-on-error"].is_null(), "{step}");
    }
}

#[test]
fn it_may_only_read_ends_and_names_versions() {
    let workflow = workflow();
    assert_eq!(workflow["permissions"], serde_json::json!({ "contents": "read" }));
    assert_eq!(workflow["concurrency"]["cancel-in-progress"], true);
    let job = &workflow["jobs"]["check"];
    assert!(job["timeout-minutes"].as_u64().is_some_and(|minutes| minutes <= 60));
    assert!(job["permissions"].is_null());
    for step in job["steps"].as_array().unwrap() {
        if let Some(uses) = step["uses"].as_str() {
            let version = uses.split_once("@v").map(|(_, version)| version.split('.').count());
            assert_eq!(version, Some(3), "{uses}");
        }
        let run = step["run"].as_str().unwrap_or_default();
        assert!(!run.contains("cargo install") || run.contains("--locked --version "), "{run}");
    }
    for os in job["strategy"]["matrix"]["os"].as_array().unwrap() {
        assert!(!os.as_str().unwrap().ends_with("-latest"), "{os}");
    }
}

#[test]
fn what_github_installs_is_what_ci_installs_here() {
    let here = fs::read_to_string(root().join(".ci/run")).unwrap();
    let workflow = workflow();
    let steps = workflow["jobs"]["check"]["steps"].as_array().unwrap();
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
fn what_is_checked_elsewhere_has_one_rust_and_a_network_of_its_own() {
    let workflow = workflow();
    let steps = workflow["jobs"]["check"]["steps"].as_array().unwrap();
    let step = |name: &str| steps.iter().find(|step| step["name"] == name).unwrap();
    let rust = step("Install Rust")["run"].as_str().unwrap();
    let named: Vec<&str> = rust.split_whitespace().filter(|word| word.contains('.')).collect();
    let [version, default] = named[..] else { panic!("{rust}") };
    assert_eq!(version, default);
    assert!(rust.starts_with(&format!("rustup toolchain install {version} ")), "{rust}");
    assert!(rust.ends_with(&format!("rustup default {version}")), "{rust}");
    let numbers: Vec<u32> = version.split('.').map(|number| number.parse().unwrap()).collect();
    let oldest = env!("CARGO_PKG_RUST_VERSION").split('.').map(|number| number.parse().unwrap()).collect();
    assert!(numbers.len() == 3 && numbers >= oldest, "{version}");

    // tests/hermetic.sh makes one, which Ubuntu's AppArmor keeps everybody but root from.
    let allow = step("Allow user namespaces");
    assert_eq!(allow["run"], "sudo sysctl --write kernel.apparmor_restrict_unprivileged_userns=0");
    assert_eq!(allow["if"], "runner.os == 'Linux'");
}
