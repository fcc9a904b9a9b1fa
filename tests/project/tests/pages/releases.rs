// SPDX-License-Identifier: MIT OR Apache-2.0
//! The release of a package: `.ci/release` writes its version, and refuses it if it is not ready.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{files, root};

/// The manifests, lock files and changelogs of this project elsewhere, as `.ci/release` sees them.
struct Copy(PathBuf);

impl Copy {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        let mut found = vec![root().join(".ci/release")];
        found.extend(CHANGELOGS.map(|page| root().join(page)));
        for end in ["Cargo.toml", "Cargo.lock"] {
            files(&root(), end, &mut found);
        }
        for path in found {
            let copy = folder.join(path.strip_prefix(root()).unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(path, copy).unwrap();
        }
        let copy = Self(folder);
        for page in CHANGELOGS {
            copy.replace(page, |page| {
                let (head, rest) = page.split_once("\n## ").unwrap();
                let (_, rest) = rest.split_once('\n').unwrap();
                format!("{head}\n## Unreleased\n{rest}")
            });
        }
        for manifest in [ROOT, SQLITE] {
            copy.replace(manifest, |text| text.replace("example.org", "example.com"));
        }
        copy.git(&["init", "-q"]);
        copy.git(&["commit", "-q", "--allow-empty", "-m", "all"]);
        copy
    }

    fn git(&self, arguments: &[&str]) {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let mut git = Command::new("git");
        git.current_dir(&self.0).args(who).args(arguments);
        assert!(git.status().unwrap().success(), "{arguments:?}");
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap()
    }

    fn replace(&self, file: &str, by: impl FnOnce(&str) -> String) {
        fs::write(self.0.join(file), by(&self.read(file))).unwrap();
    }

    /// The output of the script, or the reason why it refuses.
    fn release(&self, arguments: &[&str]) -> Result<String, String> {
        let mut script = Command::new("bash");
        script.arg(self.0.join(".ci/release")).args(arguments);
        let output = script.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        if output.status.success() {
            Ok(text(output.stdout))
        } else {
            Err(text(output.stderr))
        }
    }

    /// A copy whose [`ORDER`] can be released as version 7.8.9.
    fn ready(name: &str) -> Self {
        let copy = Self::new(name);
        for package in ORDER {
            copy.release(&[package, "7.8.9"]).unwrap();
        }
        copy
    }
}

const ROOT: &str = "Cargo.toml";
const SERVER: &str = "std-adapter/server/Cargo.toml";
const SQLITE: &str = "std-adapter/around/steps/sqlite/Cargo.toml";
/// Of the breaker, and of what is around it.
const CHANGELOGS: [&str; 2] = ["CHANGELOG.md", "std-adapter/around/CHANGELOG.md"];
/// A package, after those that it needs.
const ORDER: [&str; 3] = [
    "atomic-breaker",
    "atomic-breaker-std",
    "atomic-breaker-server",
];

#[test]
fn a_package_is_released_after_those_that_it_needs() {
    let copy = Copy::ready("order");
    let checked = || copy.release(&[ORDER[2], "--check"]);
    let all = ORDER.map(|name| format!("{name} 7.8.9\n"));
    assert_eq!(checked().unwrap(), all.concat());
    copy.git(&["tag", "atomic-breaker-v7.8.9"]);
    assert_eq!(checked().unwrap(), all[1..].concat());
    copy.git(&["tag", "atomic-breaker-server-v7.8.9"]);
    assert_eq!(checked().unwrap(), all[1]);
    copy.git(&["tag", "atomic-breaker-std-v7.8.9"]);
    let said = checked().unwrap_err();
    assert!(
        said.contains("atomic-breaker-server 7.8.9 is released already"),
        "{said}"
    );
}

#[test]
fn a_release_writes_the_version_of_one_package_everywhere() {
    let copy = Copy::new("one-package");
    copy.release(&["atomic-breaker-steps", "7.8.9"]).unwrap();
    let mut changed = BTreeMap::new();
    let mut found = Vec::new();
    files(&copy.0, "Cargo.toml", &mut found);
    files(&copy.0, "Cargo.lock", &mut found);
    for path in found {
        let file = path.strip_prefix(&copy.0).unwrap();
        let old = fs::read_to_string(root().join(file)).unwrap();
        let old = old.replace("example.org", "example.com");
        let new = fs::read_to_string(&path).unwrap();
        assert_eq!(new.lines().count(), old.lines().count());
        let lines = new.lines().zip(old.lines());
        let differ = lines.filter(|(new, old)| new != old);
        let differ: Vec<_> = differ.map(|(new, _)| new.to_owned()).collect();
        if !differ.is_empty() {
            assert!(differ.iter().all(|line| line.contains("7.8.9")));
            changed.insert(file.display().to_string(), differ.len());
        }
    }
    let once = [
        ROOT,
        "Cargo.lock",
        "std-adapter/around/steps/Cargo.toml",
        "std-adapter/around/steps/examples/file/Cargo.lock",
        "std-adapter/around/steps/examples/registration/Cargo.lock",
        SQLITE,
        "std-adapter/around/steps/sqlite/Cargo.lock",
        "tests/fuzz/fuzzer/Cargo.lock",
    ];
    for file in once {
        assert_eq!(changed.remove(file), Some(1), "{file}");
    }
    assert_eq!(changed, BTreeMap::new());
    let [breaker, around] = CHANGELOGS.map(|page| copy.read(page));
    assert!(breaker.contains("\n## Unreleased\n") && !around.contains("## Unreleased"));
    assert!(around.contains(": atomic-breaker-steps 7.8.9\n"));
}

#[test]
fn those_that_require_one_version_exactly_follow_it_and_are_named() {
    let copy = Copy::new("exactly");
    let said = copy.release(&[ORDER[0], "7.8.9"]).unwrap();
    let exactly = "these require exactly atomic-breaker 7.8.9, so they need a new version, too: ";
    assert!(
        said.starts_with(exactly) && said.contains("./std-adapter/server"),
        "{said}"
    );
    let server = copy.read(SERVER);
    assert!(server.contains("path = \"../../core\", version = \"=7.8.9\""));
}

#[test]
fn packages_that_are_released_on_one_day_share_a_section() {
    let page = Copy::ready("section").read(CHANGELOGS[0]);
    let heading = page.lines().find(|line| line.starts_with("## ")).unwrap();
    let (_, packages) = heading.split_once(": ").unwrap();
    let all = ORDER.map(|name| format!("{name} 7.8.9"));
    assert_eq!(packages, all.join(", "));
}

#[test]
fn a_release_that_is_not_ready_is_refused() {
    let refused = |name: &str, file: &str, from: &str, to: &str, words: &str| {
        let copy = Copy::ready(name);
        assert!(copy.release(&[ORDER[2], "--check"]).is_ok());
        assert!(copy.read(file).contains(from), "{file}: {from}");
        copy.replace(file, |text| text.replacen(from, to, 1));
        let said = copy.release(&[ORDER[2], "--check"]).expect_err(name);
        assert!(said.contains(words), "{name}: {said}");
    };
    let address = "the repository's address is still to be filled in";
    let given = "repository = \"https://";
    let example = "repository = \"https://example.org/";
    refused("address", ROOT, given, example, address);
    let (new, old) = ("version = \"7.8.9\"", "version = \"7.8.8\"");
    let version = "these require another version than atomic-breaker-server 7.8.8";
    refused("version", SERVER, new, old, version);
    let (new, old) = ("core\", version = \"7.8.9\"", "core\", version = \"7.8.8\"");
    let dependency = "these require another version than atomic-breaker 7.8.9: Cargo.toml";
    refused("dependency", ROOT, new, old, dependency);
    let (lock, words) = (
        "tests/firmware/Cargo.lock",
        "tests/firmware/Cargo.lock has another version",
    );
    refused("lock", lock, "\"7.8.9\"", "\"7.8.8\"", words);
    let (page, words) = (
        CHANGELOGS[0],
        "CHANGELOG.md has no section for atomic-breaker-std 7.8.9",
    );
    refused("changelog", page, ", atomic-breaker-std 7.8.9", "", words);
    let copy = Copy::new("arguments");
    let refused = |package, version, words: &str| {
        let said = copy.release(&[package, version]).unwrap_err();
        assert!(said.contains(words), "{said}");
    };
    refused(ORDER[0], "seven", "seven is no version");
    refused("core", "--check", "there is no package core");
    copy.replace(CHANGELOGS[0], |page| {
        page.replace("## Unreleased", "## 2020-01-01: b 1.0.0")
    });
    refused(ORDER[0], "7.8.9", "no \"## Unreleased\"");
}
