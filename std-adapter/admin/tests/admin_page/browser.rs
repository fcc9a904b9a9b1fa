//! chromedriver, a session of it, and what is asked of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A test that measures time has the browser to itself: it holds the lock for writing.
static BROWSERS: RwLock<()> = RwLock::new(());

#[expect(dead_code, reason = "held until the browser is gone")]
enum Place {
    Alone(RwLockWriteGuard<'static, ()>),
    BesideOthers(RwLockReadGuard<'static, ()>),
}

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: Profile,
    _place: Place,
}

/// A folder of its own, removed at the end.
struct Profile(std::path::PathBuf);

impl Drop for Profile {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An element, as the driver names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element(String);

const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
pub(crate) const TAB: &str = "\u{e004}";
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";

/// A browser, or none where none is wanted.
pub(crate) fn browser() -> Option<Browser> {
    start(|| Place::BesideOthers(BROWSERS.read().unwrap_or_else(PoisonError::into_inner)))
}

/// The only browser for as long as it is there.
pub(crate) fn browser_alone() -> Option<Browser> {
    start(|| Place::Alone(BROWSERS.write().unwrap_or_else(PoisonError::into_inner)))
}

fn start(place: impl FnOnce() -> Place) -> Option<Browser> {
    if std::env::var_os("ATOMIC_BREAKER_NEEDS_CHROMIUM").is_none() {
        println!("skipped: needs chromium, run tests/engines/run page");
        return None;
    }
    Some(Browser::start(place()))
}

impl Browser {
    fn start(place: Place) -> Self {
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
                    let _ = found.send(port.trim_end_matches('.').parse().ok());
                }
            }
        });
        let port = port.recv_timeout(PATIENCE).ok().flatten();
        let name = format!("atomic-breaker-page-{}-{}", std::process::id(), driver.id());
        let profile = Profile(std::env::temp_dir().join(name));
        let mut browser = Self {
            driver,
            port: port.expect("chromedriver says its port"),
            session: String::new(),
            profile,
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
            &format!("--user-data-dir={}", browser.profile.0.display()),
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let answer = browser.ask("POST", "/session", &wanted);
        let session = answer["sessionId"].as_str().expect("a session");
        browser.session.push_str(session);
        browser
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.exchange(method, path, &body.to_string());
        let answer: Value = serde_json::from_str(&answer.expect("chromedriver answers")).unwrap();
        assert!(
            answer["value"]["error"].is_null(),
            "{method} {path}: {}",
            answer["value"]
        );
        answer["value"].clone()
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE * 3))?;
        let body = if method == "POST" { body } else { "" };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        )?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer)?;
        Ok(String::from_utf8(answer).unwrap())
    }

    fn of_session(&self, method: &str, path: &str, body: &Value) -> Value {
        self.ask(method, &format!("/session/{}{path}", self.session), body)
    }

    pub(crate) fn go(&self, url: &str) {
        self.of_session("POST", "/url", &json!({ "url": url }));
    }

    /// What a function body returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.of_session(
            "POST",
            "/execute/sync",
            &json!({ "script": script, "args": [] }),
        )
    }

    pub(crate) fn text(&self, script: &str) -> String {
        self.run(script).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression is true; says how long it took.
    #[track_caller]
    pub(crate) fn wait_for(&self, expression: &str) -> Duration {
        let started = Instant::now();
        let script = format!("return Boolean({expression});");
        while self.run(&script) != true {
            if started.elapsed() > PATIENCE {
                let page = self.text("return document.body.innerText;");
                panic!(
                    "not within {PATIENCE:?}: {expression}\n{page}\n{}",
                    self.log()
                );
            }
            thread::sleep(Duration::from_millis(10));
        }
        started.elapsed()
    }

    /// Until the page shows the states, live.
    pub(crate) fn open(&self, url: &str) {
        self.go(url);
        self.wait_for("document.querySelector('#live').textContent === 'live' && document.querySelector('#sources b')");
    }

    #[track_caller]
    pub(crate) fn find(&self, css: &str) -> Element {
        let found = self.of_session(
            "POST",
            "/element",
            &json!({ "using": "css selector", "value": css }),
        );
        Element(found[ELEMENT].as_str().unwrap().to_owned())
    }

    pub(crate) fn all(&self, css: &str) -> Vec<Element> {
        let found = self.of_session(
            "POST",
            "/elements",
            &json!({ "using": "css selector", "value": css }),
        );
        let found = found.as_array().unwrap().iter();
        found
            .map(|element| Element(element[ELEMENT].as_str().unwrap().to_owned()))
            .collect()
    }

    pub(crate) fn click(&self, css: &str) {
        let Element(id) = self.find(css);
        self.of_session("POST", &format!("/element/{id}/click"), &json!({}));
    }

    /// The button with these words.
    pub(crate) fn press(&self, within: &str, words: &str) {
        let script = format!(
            "return [...document.querySelectorAll({})].findIndex((it) => it.textContent.trim() === {});",
            json!(format!("{within} button")),
            json!(words)
        );
        let index = self.run(&script).as_u64();
        let buttons = self.all(&format!("{within} button"));
        let button = index.and_then(|index| buttons.get(index as usize));
        let Some(Element(id)) = button else {
            panic!("no button {words:?} in {within}");
        };
        self.of_session("POST", &format!("/element/{id}/click"), &json!({}));
    }

    /// Keys, to the element that has the focus.
    pub(crate) fn keys(&self, keys: &str) {
        let actions: Vec<_> = keys
            .chars()
            .flat_map(|key| {
                [
                    json!({ "type": "keyDown", "value": key }),
                    json!({ "type": "keyUp", "value": key }),
                ]
            })
            .collect();
        let keyboard = json!([{ "type": "key", "id": "keyboard", "actions": actions }]);
        self.of_session("POST", "/actions", &json!({ "actions": keyboard }));
    }

    /// What a screen reader calls it.
    pub(crate) fn name(&self, Element(id): &Element) -> String {
        let name = self.of_session("GET", &format!("/element/{id}/computedlabel"), &Value::Null);
        name.as_str().unwrap().to_owned()
    }

    pub(crate) fn role(&self, Element(id): &Element) -> String {
        let role = self.of_session("GET", &format!("/element/{id}/computedrole"), &Value::Null);
        role.as_str().unwrap().to_owned()
    }

    pub(crate) fn markup(&self, Element(id): &Element) -> String {
        let script = json!({ "script": "return arguments[0].outerHTML.slice(0, 200);", "args": [{ ELEMENT: id }] });
        self.of_session("POST", "/execute/sync", &script)
            .to_string()
    }

    pub(crate) fn active(&self) -> Element {
        let active = self.of_session("GET", "/element/active", &Value::Null);
        Element(active[ELEMENT].as_str().unwrap().to_owned())
    }

    pub(crate) fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let command = json!({ "cmd": command, "params": parameters });
        self.of_session("POST", "/goog/cdp/execute", &command)
    }

    /// What was written to the console, violations of the policy among it, since the last time.
    pub(crate) fn log(&self) -> String {
        self.of_session("POST", "/se/log", &json!({ "type": "browser" }))
            .to_string()
    }

    pub(crate) fn has_dialog(&self) -> bool {
        let path = format!("/session/{}/alert/text", self.session);
        self.exchange("GET", &path, "")
            .is_ok_and(|answer| !answer.contains("no such alert"))
    }

    /// A picture of the whole page, to look at.
    pub(crate) fn picture(&self, name: &str) {
        let picture = self.devtools(
            "Page.captureScreenshot",
            &json!({ "captureBeyondViewport": true }),
        );
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
        let bytes = from_base64(picture["data"].as_str().unwrap());
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text
        .bytes()
        .filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte));
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in digits {
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

/// Also when a test panics.
impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.exchange("DELETE", &format!("/session/{}", self.session), "");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
