// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors name the number or name that is invalid.

use std::time::Duration;

use atomic_breaker_fleet::{FleetConfig, InstanceId, Name};

fn message(config: &FleetConfig) -> String {
    config.check().unwrap_err().to_string()
}

#[test]
fn each_number_out_of_range_is_named() {
    let fleet = FleetConfig::new(3);
    assert_eq!(fleet.check(), Ok(()));
    assert!(message(&FleetConfig::new(0)).contains("quorum"));
    assert!(message(&fleet.window(Duration::ZERO)).contains("window"));
    assert!(message(&fleet.window(Duration::MAX)).contains("window"));
    assert!(message(&fleet.grace_percent(0)).contains("grace"));
    assert!(message(&fleet.grace_percent(101)).contains("grace"));
    assert!(message(&fleet.time_limit(Duration::ZERO)).contains("limit"));
    assert!(message(&fleet.time_limit(Duration::from_secs(61))).contains("limit"));
    assert!(message(&fleet.poll(Duration::ZERO)).contains("poll"));
    assert!(message(&fleet.poll(Duration::from_millis(249))).contains("poll"));
    assert_eq!(fleet.poll(Duration::from_millis(250)).check(), Ok(()));
    assert!(message(&fleet.instance("")).contains("must not be empty"));
    assert_eq!(fleet.instance("shop-7f9c/worker-2").check(), Ok(()));
}

#[test]
fn each_limit_is_allowed_and_nothing_beyond_it() {
    let fleet = FleetConfig::new(1);
    let ms = Duration::from_millis;
    let (hour, day) = (ms(60 * 60 * 1_000), ms(24 * 60 * 60 * 1_000));
    let short = fleet.time_limit(ms(1));
    for allowed in [
        fleet.window(ms(1)),
        fleet.window(day),
        fleet.grace_percent(1),
        fleet.grace_percent(100),
        short.poll(ms(1)),
        fleet.time_limit(ms(60_000)).poll(ms(60_000)),
        fleet.poll(hour),
    ] {
        assert_eq!(allowed.check(), Ok(()), "{allowed:?}");
    }
    assert!(message(&fleet.window(day + ms(1))).contains("a day"));
    assert!(message(&fleet.time_limit(ms(60_001))).contains("a minute"));
    assert!(message(&fleet.poll(hour + ms(1))).contains("an hour"));
    // A second, if its high bits were cut off.
    assert!(message(&fleet.window(ms((1 << 32) + 1_000))).contains("a day"));
}

#[test]
fn a_name_has_1_to_255_bytes_of_any_value() {
    assert!(Name::new([0xFF, 0, b'\n', b'}']).is_ok());
    assert!(Name::new([0; 255]).is_ok());
    let empty = Name::new("").unwrap_err().to_string();
    assert!(empty.contains("1 to 255 bytes"), "{empty}");
    let long = Name::new([0; 256]).unwrap_err().to_string();
    assert!(long.contains("256 bytes"), "{long}");
    let name = Name::new("a\nb").unwrap();
    assert_eq!(name.to_string(), r"a\nb");
    assert_eq!(format!("{name:?}"), r#""a\nb""#);
}

#[test]
fn an_instance_is_shown_as_32_hexadecimal_digits() {
    let shown = "0000000000000000000000000000002a";
    assert_eq!(InstanceId::new(42).to_string(), shown);
    assert_eq!(format!("{:?}", InstanceId::new(42)), shown);
}

/// The hash is FNV-1a of 128 bits, with the vectors of its authors.
#[test]
fn the_id_of_a_name_is_the_same_in_every_program() {
    for (name, id) in [
        ("", 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d),
        ("a", 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964),
        ("foobar", 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18),
    ] {
        assert_eq!(InstanceId::named(name), InstanceId::new(id), "{name}");
    }
}
