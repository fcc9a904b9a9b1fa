// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workflows run each part of `.ci/run`, and of `tests/deep`, once.

use std::collections::BTreeSet;
use std::fs;

use crate::packages::root;

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// The parts in the rows of the script, and those that run by name only. Not those that only measure.
fn parts(script: &str) -> Vec<String> {
    named(script, &["first", "second", "third", "all"])
}

/// The parts in lists of these names.
fn named(script: &str, lists: &[&str]) -> Vec<String> {
    let rows = script.lines().filter_map(|line| {
        let (name, list) = line.split_once("=(")?;
        lists.contains(&name).then_some(list)
    });
    let words = rows.flat_map(|list| list.trim_end_matches(')').split_whitespace());
    words
        .filter(|word| !word.starts_with('"'))
        .map(str::to_owned)
        .collect()
}

/// The names of the parts of `tests/deep`.
fn deep(script: &str) -> Vec<String> {
    let (_, list) = script.split_once("\nparts=(\n").unwrap();
    let lines = list.lines().take_while(|line| *line != ")");
    let names = lines.map(|line| line.trim().trim_start_matches('"').split('|').next());
    names.map(|name| name.unwrap().to_owned()).collect()
}

/// The parts in the jobs of a workflow.
fn jobs(workflow: &str) -> Vec<String> {
    let (_, matrix) = workflow.split_once("matrix:\n").unwrap();
    let (_, matrix) = matrix.split_once("          - ").unwrap();
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
    let measured = named(&script, &["measured"]);
    assert!(!measured.is_empty());
    let missing = [parts(&script), measured]
        .concat()
        .into_iter()
        .filter(|part| !functions.contains(&**part));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<String>::new());
}

/// But for those that take longer than a job may.
#[test]
fn a_workflow_runs_each_part_of_the_long_form_once() {
    let mut parts = deep(&read("tests/deep"));
    let mut jobs = jobs(&read(".github/workflows/deep.yml"));
    jobs.extend(["mutants", "proof"].map(str::to_owned));
    parts.sort();
    jobs.sort();
    assert!(parts.len() > 20, "{parts:?}");
    assert_eq!(
        parts, jobs,
        "left those of tests/deep, right those of the workflow"
    );
}

#[test]
fn control_a_part_that_no_job_runs_is_found() {
    let script = "first=(a b)\nall=(\"${first[@]}\" c)\nmeasured=(d)\n";
    assert_eq!(parts(script), ["a", "b", "c"]);
    assert_eq!(named(script, &["measured"]), ["d"]);
    assert_eq!(
        deep("\nparts=(\n    \"a|x|y z\"\n    \"b|x|y\"\n)\n"),
        ["a", "b"]
    );
    let workflow = "matrix:\n        parts:\n          - a b\n          - d\n    steps:\n";
    assert_eq!(jobs(workflow), ["a", "b", "d"]);
}
