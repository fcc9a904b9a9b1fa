//! Names, roles, focus, contrast, narrow windows.

use crate::browser::{Browser, browser};
use crate::operator::controls;
use crate::site::{Site, row};
use serde_json::json;

#[test]
fn each_control_has_a_name_and_a_role() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    site.trip("a.example");
    site.fail("b.example");
    browser.open(&site.url);
    browser.wait_for(&row("b.example"));
    let check = |within: &str| controls(&browser, within);
    let names = check("main");
    for wanted in [
        ("searchbox", "Search"),
        ("combobox", "Source"),
        ("combobox", "Order"),
        ("table", "3 breakers, 1 to 3 of 3 shown"),
        ("button", "Manage a.example of hosts"),
        ("button", "Settings of payments"),
    ] {
        assert!(
            names.contains(&(wanted.0.to_owned(), wanted.1.to_owned())),
            "{wanted:?} {names:?}"
        );
    }
    let roles = [
        ("#live", "status"),
        ("#announce", "log"),
        ("#rows th", "rowheader"),
        ("thead th", "columnheader"),
    ];
    for (css, role) in roles {
        assert_eq!(browser.role(&browser.find(css)), role, "{css}");
    }
    browser.click("#rows tr:nth-child(1) button");
    assert_eq!(browser.role(&browser.find("#dialog")), "dialog");
    assert_eq!(browser.name(&browser.find("#dialog")), "a.example of hosts");
    let mut count = names.len() + check("#commands").len();
    browser.press("#commands", "Change rules");
    browser.wait_for("document.querySelector('#form textarea')");
    count += check("#form").len();
    assert_eq!(browser.role(&browser.find("#result")), "status");
    println!("figure: {count} controls have names");
}

#[test]
fn the_focus_stays_while_the_list_changes() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    site.trip("m.example");
    browser.open(&site.url);
    browser.wait_for(&row("m.example"));
    browser.run(&format!(
        "{}.querySelector('button').focus();",
        row("m.example")
    ));
    let has_focus = "document.activeElement.textContent.includes('m.example')";
    // Others come before it, and it moves itself.
    site.trip("a.example");
    browser.wait_for(&row("a.example"));
    assert_eq!(browser.run(&format!("return {has_focus};")), true);
    site.hosts
        .command(&"m.example".to_owned(), |host| host.force_open())
        .unwrap();
    browser.wait_for(&format!("{}.rowIndex === 1", row("m.example")));
    assert_eq!(browser.run(&format!("return {has_focus};")), true);
    site.hosts
        .command(&"m.example".to_owned(), |host| host.reset())
        .unwrap();
    browser.wait_for(&format!("{}.rowIndex === 2", row("m.example")));
    assert_eq!(browser.run(&format!("return {has_focus};")), true);
}

#[test]
fn it_is_readable_in_light_and_dark_wide_and_narrow() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    fill(&site);
    each_look(&browser, |scheme, width, name| {
        browser.open(&site.url);
        browser.wait_for(&row("mail.example"));
        for (css, role) in [
            ("#list", "table"),
            ("#rows tr", "row"),
            ("#rows th", "rowheader"),
            ("#rows td", "cell"),
        ] {
            assert_eq!(browser.role(&browser.find(css)), role, "{css}, {name}");
        }
        let list = legible(&browser, &format!("admin-{scheme}-{name}"));
        browser.click("#rows tr:nth-child(2) button");
        browser.press("#commands", "Reset");
        let dialog = legible(&browser, &format!("admin-{scheme}-{name}-dialog"));
        let lowest = list.min(dialog);
        println!("figure: {scheme}, {width} px: the lowest contrast of a text is {lowest:.2}");
    });
}

/// In light and dark, wide and narrow.
pub(crate) fn each_look(browser: &Browser, look: impl Fn(&str, u32, &str)) {
    for (scheme, width, name) in [
        ("light", 1_280, "wide"),
        ("dark", 1_280, "wide"),
        ("light", 390, "narrow"),
        ("dark", 390, "narrow"),
    ] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.devtools("Emulation.setEmulatedMedia", &features);
        let window =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        browser.devtools("Emulation.setDeviceMetricsOverride", &window);
        look(scheme, width, name);
    }
}

/// Takes a picture. Nothing is too wide, and each text stands out: by how much, the lowest of all.
pub(crate) fn legible(browser: &Browser, name: &str) -> f64 {
    let overflow = browser
        .run("return document.documentElement.scrollWidth - window.innerWidth;")
        .as_i64()
        .unwrap();
    assert!(overflow <= 0, "{name}: {overflow} px too wide");
    let lowest = contrast(browser);
    browser.picture(&format!("{name}.png"));
    assert!(lowest >= 4.5, "{name}: {lowest}");
    lowest
}

/// Something of each kind.
fn fill(site: &Site) {
    for key in [
        "accounts.example",
        "images.example",
        "search.example",
        "a-host-with-a-rather-long-name.eu-west.compute.example",
    ] {
        site.trip(key);
    }
    site.fail("mail.example");
    for (key, command) in [
        ("held.example", "force"),
        ("off.example", "disable"),
        ("trying.example", "probe"),
    ] {
        site.fail(key);
        site.hosts
            .command(&key.to_owned(), |host| match command {
                "force" => host.force_open(),
                "disable" => host.disable(),
                _ => {
                    host.trip();
                    host.probe_now()
                }
            })
            .unwrap();
    }
}

/// The lowest contrast of any text with what is behind it, by WCAG 2.
fn contrast(browser: &Browser) -> f64 {
    let script = r"
        const parse = (color) => (color.match(/[\d.]+/g) || []).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
            .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
            .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
        const behind = (element) => {
            for (let it = element; it; it = it.parentElement) {
                const color = parse(getComputedStyle(it).backgroundColor);
                if (color.length === 3 || color[3] > 0) return color;
            }
            return [255, 255, 255];
        };
        let lowest = 21;
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const element = walker.currentNode.parentElement;
            if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest('.hidden, noscript, :disabled, .fresh')) continue;
            const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
            lowest = Math.min(lowest, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
        }
        return lowest;";
    browser.run(script).as_f64().unwrap()
}
