// SPDX-License-Identifier: MIT OR Apache-2.0
//! chromedriver, a session of it, and what is asked of it: the few commands of `WebDriver` that the tests need, most of
//! which are Chromium's own.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// A test that measures time has the browser to itself: it holds the lock for writing.
static BROWSERS: RwLock<()> = RwLock::new(());

#[expect(dead_code, reason = "held until the browser is gone")]
enum Place {
    Alone(RwLockWriteGuard<'static, ()>),
    BesideOthers(RwLockReadGuard<'static, ()>),
}

/// The time limit of anything.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Browser {
    driver: Child,
    /// A folder of its own, removed at the end.
    profile: PathBuf,
    /// Of the driver, then of the session.
    url: String,
    runtime: Runtime,
    _place: Place,
}

/// An element, as the driver names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element(String);

const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
pub(crate) const TAB: &str = "\u{e004}";
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";

impl Browser {
    /// Starts a browser: one without others beside it, if `is_alone`.
    pub(crate) fn start(is_alone: bool) -> Self {
        let place = if is_alone {
            Place::Alone(BROWSERS.write().unwrap_or_else(PoisonError::into_inner))
        } else {
            Place::BesideOthers(BROWSERS.read().unwrap_or_else(PoisonError::into_inner))
        };
        let (driver, port) = (0..3)
            .find_map(|_| start_driver())
            .expect("chromedriver has a port: tests/engines/run page installs it");
        let name = format!("atomic-breaker-page-{}-{}", std::process::id(), driver.id());
        let mut browser = Self {
            driver,
            profile: std::env::temp_dir().join(name),
            url: format!("http://127.0.0.1:{port}/session"),
            runtime: Runtime::new().unwrap(),
            _place: place,
        };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--window-size=1280,900",
            &format!("--user-data-dir={}", browser.profile.display()),
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let session = browser.post("", &wanted);
        let session = session["sessionId"].as_str().expect("a session");
        browser.url = format!("{}/{session}", browser.url);
        browser
    }

    fn send(&self, method: Method, path: &str, body: &Value) -> Value {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url));
        let body = match body {
            Value::Null => Body::empty(),
            body => Body::from(body.to_string()),
        };
        let client = Client::builder(TokioExecutor::new()).build_http();
        let response = self.runtime.block_on(async {
            let response = client.request(request.body(body).unwrap());
            let response = response.await.expect("chromedriver responds").into_body();
            to_bytes(Body::new(response), usize::MAX).await.unwrap()
        });
        serde_json::from_slice::<Value>(&response).unwrap()["value"].take()
    }

    fn get(&self, path: &str) -> Value {
        let value = self.send(Method::GET, path, &Value::Null);
        assert!(value["error"].is_null(), "{path}: {value}");
        value
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let value = self.send(Method::POST, path, body);
        assert!(value["error"].is_null(), "{path}: {value}");
        value
    }

    pub(crate) fn go(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// Goes to the page, until it shows the states, live.
    pub(crate) fn open(&self, url: &str) {
        self.go(url);
        self.wait_for("$('#live').textContent === 'live' && $('#sources b')");
    }

    /// The result of a function body, in which `$` finds an element.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.run_with(script, &json!([]))
    }

    fn run_with(&self, script: &str, args: &Value) -> Value {
        let script = format!("const $ = (css) => document.querySelector(css); {script}");
        self.post("/execute/sync", &json!({ "script": script, "args": args }))
    }

    /// The value of an expression.
    #[track_caller]
    pub(crate) fn is(&self, expression: &str) -> bool {
        self.run(&format!("return Boolean({expression});")) == true
    }

    pub(crate) fn text(&self, expression: &str) -> String {
        let text = self.run(&format!("return {expression};"));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// The text of an element.
    pub(crate) fn text_of(&self, css: &str) -> String {
        self.text(&format!("$({css:?}).innerText"))
    }

    /// Waits until an expression is true; says how long it took.
    #[track_caller]
    pub(crate) fn wait_for(&self, expression: &str) -> Duration {
        let started = Instant::now();
        while !self.is(expression) {
            if started.elapsed() > PATIENCE {
                let (page, log) = (self.text_of("body"), self.log());
                panic!("not within {PATIENCE:?}: {expression}\n{page}\n{log}");
            }
            thread::sleep(Duration::from_millis(10));
        }
        started.elapsed()
    }

    /// Waits until the text of an element contains this.
    #[track_caller]
    pub(crate) fn wait_for_text(&self, css: &str, text: &str) -> Duration {
        let text = json!(text);
        self.wait_for(&format!("$({css:?})?.innerText.includes({text})"))
    }

    pub(crate) fn all(&self, css: &str) -> Vec<Element> {
        let wanted = json!({ "using": "css selector", "value": css });
        let found = self.post("/elements", &wanted);
        found.as_array().unwrap().iter().map(element).collect()
    }

    /// The number of elements of the page.
    pub(crate) fn elements(&self) -> u64 {
        let count = self.run("return document.getElementsByTagName('*').length;");
        count.as_u64().unwrap()
    }

    #[track_caller]
    pub(crate) fn find(&self, css: &str) -> Element {
        let found = self.all(css).into_iter().next();
        found.unwrap_or_else(|| panic!("no {css}"))
    }

    #[track_caller]
    pub(crate) fn click(&self, css: &str) {
        self.click_on(&self.find(css));
    }

    fn click_on(&self, Element(id): &Element) {
        self.post(&format!("/element/{id}/click"), &json!({}));
    }

    /// The button with these words.
    #[track_caller]
    pub(crate) fn press(&self, within: &str, words: &str) {
        let buttons = format!("{within} button");
        let script = "return [...document.querySelectorAll(arguments[0])].findIndex((it) => it.textContent.trim() === arguments[1]);";
        let index = self.run_with(script, &json!([buttons, words])).as_u64();
        let Some(index) = index else {
            panic!("no button {words:?} in {within}");
        };
        self.click_on(&self.all(&buttons)[index as usize]);
    }

    /// Keys, to the element that has the focus.
    pub(crate) fn keys(&self, keys: &str) {
        let key = |kind, key| json!({ "type": kind, "value": key });
        let pressed = keys
            .chars()
            .map(|it| [key("keyDown", it), key("keyUp", it)]);
        let actions: Vec<_> = pressed.flatten().collect();
        let keyboard = json!([{ "type": "key", "id": "keyboard", "actions": actions }]);
        self.post("/actions", &json!({ "actions": keyboard }));
    }

    /// The name of an element for a screen reader.
    pub(crate) fn name(&self, Element(id): &Element) -> String {
        let name = self.get(&format!("/element/{id}/computedlabel"));
        name.as_str().unwrap().to_owned()
    }

    pub(crate) fn role(&self, Element(id): &Element) -> String {
        let role = self.get(&format!("/element/{id}/computedrole"));
        role.as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn has_role(&self, css: &str, role: &str) {
        assert_eq!(self.role(&self.find(css)), role, "{css}");
    }

    pub(crate) fn markup(&self, Element(id): &Element) -> String {
        let script = "return arguments[0].outerHTML.slice(0, 200);";
        self.run_with(script, &json!([{ ELEMENT: id }])).to_string()
    }

    /// The name of the element that has the focus.
    pub(crate) fn focused(&self) -> String {
        self.name(&element(&self.get("/element/active")))
    }

    pub(crate) fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let command = json!({ "cmd": command, "params": parameters });
        self.post("/goog/cdp/execute", &command)
    }

    /// A network that is gone, or that takes this long.
    pub(crate) fn network(&self, is_offline: bool, latency_ms: u32) {
        self.devtools("Network.enable", &json!({}));
        let network = json!({
            "offline": is_offline, "latency": latency_ms, "downloadThroughput": -1, "uploadThroughput": -1,
        });
        self.devtools("Network.emulateNetworkConditions", &network);
    }

    /// The lines that were written to the console, violations of the policy among it, since the last time.
    pub(crate) fn log(&self) -> String {
        let log = self.post("/se/log", &json!({ "type": "browser" }));
        log.to_string()
    }

    pub(crate) fn has_dialog(&self) -> bool {
        let alert = self.send(Method::GET, "/alert/text", &Value::Null);
        alert["error"] != "no such alert"
    }

    /// A picture of the whole page, to look at, within a page of its own.
    pub(crate) fn picture(&self, name: &str) {
        let whole = json!({ "captureBeyondViewport": true });
        let picture = self.devtools("Page.captureScreenshot", &whole);
        let data = picture["data"].as_str().unwrap();
        let file = format!("{}/{name}.html", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(file, format!("<img src='data:image/png;base64,{data}'>")).unwrap();
    }
}

/// chromedriver, and its port. Now and then it ends at once instead, while other browsers start.
fn start_driver() -> Option<(Child, String)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromedriver: tests/engines/run page installs it");
    let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let (found, port) = mpsc::channel();
    // To its end, as a driver that cannot write would stop.
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if let Some((_, port)) = line.split_once("successfully on port ") {
                let _ = found.send(port.trim_end_matches('.').to_owned());
            }
        }
    });
    if let Ok(port) = port.recv_timeout(PATIENCE) {
        return Some((driver, port));
    }
    let _ = driver.kill();
    let _ = driver.wait();
    None
}

fn element(named: &Value) -> Element {
    Element(named[ELEMENT].as_str().unwrap().to_owned())
}

/// Also when a test panics.
impl Drop for Browser {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.send(Method::DELETE, "", &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
