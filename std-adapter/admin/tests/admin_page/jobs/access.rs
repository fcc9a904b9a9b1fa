//! Names, roles, contrast, narrow windows.

use atomic_breaker_std::steps::{Status, Store};

use super::{LEASE, Shop, manage, row};
use crate::access::{each_look, legible};
use crate::browser::browser;
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
fn each_control_has_a_name_and_a_role() {
    let Some(browser) = browser() else { return };
    let shop = Shop::new();
    fill(&shop);
    shop.open(&browser);
    browser.press("#jobs-statuses", "All 4");
    browser.wait_for(&row("running"));
    let check = |within: &str| controls(&browser, within);
    let names = check("main");
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
    for (css, role) in [
        ("#jobs", "tabpanel"),
        ("#tabs", "tablist"),
        ("#jobs-rows th", "rowheader"),
    ] {
        assert_eq!(browser.role(&browser.find(css)), role, "{css}");
    }
    manage(&browser, "dead");
    assert_eq!(browser.role(&browser.find("#job")), "dialog");
    assert_eq!(browser.name(&browser.find("#job")), "dead (order, job 3)");
    assert_eq!(browser.role(&browser.find("#job-result")), "status");
    let count = names.len() + check("#job").len();
    println!("figure: {count} controls of the jobs have names");
}

#[test]
fn it_is_readable_in_light_and_dark_wide_and_narrow() {
    let Some(browser) = browser() else { return };
    let shop = Shop::new();
    fill(&shop);
    each_look(&browser, |scheme, width, name| {
        // The tab is in the address.
        browser.go("about:blank");
        browser.go(&format!("{}#jobs", shop.site.url));
        browser.wait_for(&row("dead"));
        browser.press("#jobs-statuses", "All 4");
        browser.wait_for(&row("running"));
        let list = legible(&browser, &format!("jobs-{scheme}-{name}"));
        manage(&browser, "dead");
        browser.wait_for("document.querySelector('#job-history').innerText.includes('503')");
        browser.press("#job-commands", "Retry now");
        let dialog = legible(&browser, &format!("jobs-{scheme}-{name}-dialog"));
        let lowest = list.min(dialog);
        println!(
            "figure: jobs, {scheme}, {width} px: the lowest contrast of a text is {lowest:.2}"
        );
    });
}
