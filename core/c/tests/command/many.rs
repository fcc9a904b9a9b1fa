// SPDX-License-Identifier: MIT OR Apache-2.0
//! The code that the command generates from a file with several breakers, and from one with as many
//! as it takes.

use atomic_breaker_c::generate::generate;

fn rust(text: &str) -> String {
    generate(text).unwrap().rust
}

#[test]
fn breakers_of_one_tick_are_told_apart_by_their_number_where_they_differ() {
    let both = rust(
        "[modem]\nretained = true\n[radio]\n\
         [sensor]\ntick_ms = 1024\njitter_percent = 9\nseed_from = \"device_id\"\n",
    );
    for line in [
        "mod ticks_of_64_ms {",
        "mod ticks_of_1024_ms {",
        "match self.0 { 0 => WORD_0.word(), _ => &WORD_1 }",
        "read(&SEED_0)",
    ] {
        assert_eq!(both.matches(line).count(), 1, "{line}\n{both}");
    }
    let alone = rust("[radio]\n");
    assert!(!alone.contains("match self.0") && alone.contains("&WORD_0"));
    let no_seeds = rust("[radio]\n[modem]\n");
    let matches = no_seeds.matches("match self.0").count();
    assert_eq!(matches, 1, "for the words, and none for seeds\n{no_seeds}");
}

#[test]
fn a_file_has_up_to_200_breakers_of_one_tick_and_a_mebibyte() {
    let file = |breakers: usize| {
        let all: Vec<_> = (0..breakers).map(|number| format!("[b{number}]")).collect();
        all.join("\n")
    };
    rust(&file(200));
    let error = generate(&file(201)).unwrap_err();
    assert_eq!(error, "there are more than 200 breakers of one tick");
    let long = |bytes: usize| format!("[radio]\n#{}\n", "x".repeat(bytes - 10));
    rust(&long(1 << 20));
    let error = generate(&long((1 << 20) + 1)).unwrap_err();
    assert_eq!(error, "it is longer than 1 MiB");
}

#[test]
fn two_breakers_may_share_a_seed() {
    rust(
        "[a]\njitter_percent = 1\nseed_from = \"id\"\n[b]\njitter_percent = 1\nseed_from = \"id\"\n",
    );
}
