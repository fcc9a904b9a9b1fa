// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that contradict themselves.

use crate::support::World;
use atomic_breaker_admin::{Admin, Operator, Timeline};

#[track_caller]
fn error(admin: Admin) -> String {
    admin.router::<()>().unwrap_err().to_string()
}

#[test]
fn invalid_settings_are_errors_that_say_what_to_do() {
    let world = World::new();
    assert!(
        error(world.admin().resource("hosts", world.payments.clone()))
            .contains("\"hosts\" is given twice")
    );
    assert!(error(world.admin().resource("", world.payments.clone())).contains("1 to 128 bytes"));
    assert!(
        error(
            world
                .admin()
                .resource("x".repeat(129), world.payments.clone())
        )
        .contains("1 to 128 bytes")
    );
    assert!(
        error(world.admin().hosts(["https://admin.example.com"]))
            .contains("with or without a port")
    );
    assert!(error(world.admin().hosts(["*.example.com"])).contains("is not a host"));
    assert!(
        error(world.admin().origins(["admin.example.com"])).contains("https://admin.example.com")
    );
    assert!(
        error(
            world
                .admin()
                .origins(["https://admin.example.com/breakers"])
        )
        .contains("is not an origin")
    );
    assert!(error(world.admin().streams(0)).contains("from 1 to 10000"));
    assert!(world.admin().router::<()>().is_ok());
}

#[test]
fn a_recorder_whose_name_is_not_shown_is_an_error() {
    let world = World::new();
    let _mistyped = world.timeline.recorder("host");
    let text = error(world.admin());
    assert!(
        text.contains("\"host\"") && text.contains("the same name"),
        "{text}"
    );
}

#[test]
fn the_size_of_a_timeline_is_limited() {
    for (transitions, keys) in [(0, 1), (1, 0), (1_000_001, 1)] {
        let error = Timeline::keeping(transitions, keys).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("from 1 to 1000000"), "{error}");
    }
    assert!(Timeline::keeping(1, 1).is_ok());
}

#[test]
fn the_name_of_an_operator_is_bounded() {
    let operator = Operator::new("é".repeat(1_000));
    assert!(operator.name().len() <= 128 && operator.name().ends_with('…'));
}
