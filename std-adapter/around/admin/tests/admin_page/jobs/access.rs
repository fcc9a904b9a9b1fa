// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names, roles, contrast, narrow windows.

use atomic_breaker_steps::{Status, Store};

use super::{LEASE, Shop, row};
use crate::access::{each_look, legible};
use crate::operator::controls;

fn fill(shop: &Shop) {
    shop.order("running");
    let claimed = shop.store.jobs.claim("billing", 1, LEASE);
    assert_eq!(shop.runtime.block_on(claimed).unwrap().jobs.len(), 1);
    shop.order(
        "an-order-with-a-rather-long-key-of-a-person-who-likes-to-say-everything-in-one-word",
    );
    shop.ended("dead", Status::Dead, "503 Service Unavailable");
    shop.ended(
        "parked",
        Status::Parked,
        "no workflow \"order\" is known here",
    );
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn each_control_has_a_name_and_a_role() {
    let shop = Shop::new();
    fill(&shop);
    shop.open();
    shop.press("#jobs-statuses", "All 4");
    shop.wait_for(&row("running"));
    let names = controls(&shop, "main");
    for (role, name) in [
        ("tab", "Breakers"),
        ("tab", "Jobs"),
        ("searchbox", "Key or id"),
        ("combobox", "Steps"),
        ("combobox", "Kind"),
        ("table", "4 jobs of 4 shown, by number"),
        ("button", "Manage dead, job 3"),
        ("button", "Parked 1"),
    ] {
        let wanted = (role.to_owned(), name.to_owned());
        assert!(names.contains(&wanted), "{wanted:?} {names:?}");
    }
    shop.has_role("#jobs", "tabpanel");
    shop.has_role("#tabs", "tablist");
    shop.has_role("#jobs-rows th", "rowheader");
    shop.manage("dead");
    shop.has_role("#job", "dialog");
    assert_eq!(shop.name(&shop.find("#job")), "dead (order, job 3)");
    shop.has_role("#job-result", "status");
    let count = names.len() + controls(&shop, "#job").len();
    println!("figure: {count} controls of the jobs have names");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_page_is_readable_in_light_and_dark_wide_and_narrow() {
    let shop = Shop::new();
    fill(&shop);
    each_look(&shop, |scheme, width, name| {
        // The tab is in the address.
        shop.go("about:blank");
        shop.go(&format!("{}#jobs", shop.site.url));
        shop.wait_for(&row("dead"));
        shop.press("#jobs-statuses", "All 4");
        shop.wait_for(&row("running"));
        let list = legible(&shop, &format!("jobs-{scheme}-{name}"));
        shop.manage("dead");
        shop.wait_for_text("#job-history", "503");
        shop.press("#job-commands", "Retry now");
        let dialog = legible(&shop, &format!("jobs-{scheme}-{name}-dialog"));
        let lowest = list.min(dialog);
        println!(
            "figure: jobs, {scheme}, {width} px: the lowest contrast of a text is {lowest:.2}"
        );
    });
}
