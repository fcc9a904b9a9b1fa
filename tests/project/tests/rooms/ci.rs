// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workflow runs each part of `.ci/run`, once.

use std::collections::BTreeSet;
use std::fs;

use crate::packages::root;

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// The parts in the rows of the script, and those that run by name only.
fn parts(script: &str) -> Vec<String> {
    let rows = script.lines().filter_map(|line| {
        let (name, list) = line.split_once("=(")?;
        ["first", "second", "third", "all"]
            .contains(&name)
            .then_some(list)
    });
    let words = rows.flat_map(|list| list.trim_end_matches(')').split_whitespace());
    words
        .filter(|word| !word.starts_with('"'))
        .map(str::to_owned)
        .collect()
}

/// The parts in the jobs of the workflow.
fn jobs(workflow: &str) -> Vec<String> {
    let (_, matrix) = workflow.split_once("parts:\n          - ").unwrap();
    let (matrix, _) = matrix.split_once("    steps:").unwrap();
    matrix
        .split_whitespace()
        .filter(|word| *word != "-")
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_workflow_runs_each_part_once() {
    let (mut parts, mut jobs) = (
        parts(&read(".ci/run")),
        jobs(&read(".github/workflows/ci.yml")),
    );
    parts.sort();
    jobs.sort();
    assert!(parts.len() > 15, "{parts:?}");
    assert_eq!(
        parts, jobs,
        "left those of .ci/run, right those of the workflow"
    );
}

#[test]
fn each_part_of_the_script_is_a_function_of_it() {
    let script = read(".ci/run");
    let functions: BTreeSet<_> = script
        .lines()
        .filter_map(|line| line.strip_suffix("() {"))
        .collect();
    let missing = parts(&script)
        .into_iter()
        .filter(|part| !functions.contains(&**part));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn control_a_part_that_no_job_runs_is_found() {
    let script = "first=(a b)\nall=(\"${first[@]}\" c)\n";
    assert_eq!(parts(script), ["a", "b", "c"]);
    let workflow = "parts:\n          - a b\n          - d\n    steps:\n";
    assert_eq!(jobs(workflow), ["a", "b", "d"]);
}
