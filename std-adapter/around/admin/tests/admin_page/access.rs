// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names, roles, focus, contrast, narrow windows.

use crate::browser::Browser;
use crate::operator::controls;
use crate::site::{Page, Site, row};
use serde_json::json;
use test_support::sight::least_differences;

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn each_control_has_a_name_and_a_role() {
    let page = Page::new();
    page.site.trip("a.example");
    page.site.fail("b.example");
    page.open();
    page.wait_for(&row("b.example"));
    let names = controls(&page, "main");
    for (role, name) in [
        ("searchbox", "Search"),
        ("combobox", "Source"),
        ("combobox", "Order"),
        ("table", "3 breakers, 1 to 3 of 3 shown"),
        ("button", "Manage a.example of hosts"),
        ("button", "Settings of payments"),
    ] {
        let wanted = (role.to_owned(), name.to_owned());
        assert!(names.contains(&wanted), "{wanted:?} {names:?}");
    }
    page.has_role("#live", "status");
    page.has_role("#announce", "log");
    page.has_role("#rows th", "rowheader");
    page.has_role("thead th", "columnheader");
    page.click("#rows tr:nth-child(1) button");
    page.has_role("#dialog", "dialog");
    assert_eq!(page.name(&page.find("#dialog")), "a.example of hosts");
    let mut count = names.len() + controls(&page, "#commands").len();
    page.press("#commands", "Change rules");
    page.wait_for("$('#form textarea')");
    count += controls(&page, "#form").len();
    page.has_role("#result", "status");
    println!("figure: {count} controls have names");
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_focus_stays_while_the_list_changes() {
    let page = Page::new();
    page.site.trip("m.example");
    page.open();
    page.wait_for(&row("m.example"));
    let row_of_m = row("m.example");
    page.run(&format!("{row_of_m}.querySelector('button').focus();"));
    let has_focus = "document.activeElement.textContent.includes('m.example')";
    // Others come before it, and it moves itself.
    page.site.trip("a.example");
    page.wait_for(&row("a.example"));
    assert!(page.is(has_focus));
    page.site.command("m.example", |host| host.force_open());
    page.wait_for(&format!("{row_of_m}.rowIndex === 1"));
    assert!(page.is(has_focus));
    page.site.command("m.example", |host| host.reset());
    page.wait_for(&format!("{row_of_m}.rowIndex === 2"));
    assert!(page.is(has_focus));
}

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn the_page_is_readable_in_light_and_dark_wide_and_narrow() {
    let page = Page::new();
    fill(&page.site);
    each_look(&page, |scheme, width, name| {
        page.open();
        page.wait_for(&row("mail.example"));
        page.has_role("#list", "table");
        page.has_role("#rows tr", "row");
        page.has_role("#rows th", "rowheader");
        page.has_role("#rows td", "cell");
        states_differ(&page);
        let list = legible(&page, &format!("admin-{scheme}-{name}"));
        page.click("#rows tr:nth-child(2) button");
        page.press("#commands", "Reset");
        let dialog = legible(&page, &format!("admin-{scheme}-{name}-dialog"));
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
    let fits = "document.documentElement.scrollWidth <= window.innerWidth";
    assert!(browser.is(fits), "{name} is too wide");
    let lowest = contrast(browser);
    browser.picture(name);
    assert!(lowest >= 4.5, "{name}: {lowest}");
    lowest
}

/// Each state has a sign of its own, and each group of states a color, also for eyes that do not tell red from green.
fn states_differ(page: &Page) {
    let signs = "return [...new Set([...document.querySelectorAll('#legend .state i')].map((it) => it.textContent))].length;";
    assert_eq!(page.run(signs), 6);
    let colors = "return ['open', 'half-open', 'closed', 'disabled'].map((state) => getComputedStyle($(`#legend .state.${state}`)).color.match(/\\d+/g).map(Number));";
    let colors = serde_json::from_value::<Vec<_>>(page.run(colors)).unwrap();
    let least = least_differences(&colors);
    println!("figure: colors of states differ by at least {least:.0?}");
    assert!(least.iter().all(|least| *least >= 20.0), "{least:?}");
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
    site.fail("held.example");
    site.command("held.example", |host| host.force_open());
    site.fail("off.example");
    site.command("off.example", |host| host.disable());
    site.trip("trying.example");
    site.command("trying.example", |host| host.probe_now());
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
