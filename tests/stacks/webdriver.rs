//! The part of the WebDriver protocol that drives a real headless Chromium.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write, stderr};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A browser with one page.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

/// An element of the page.
#[derive(Clone)]
pub(crate) struct Element(Value);

impl Browser {
    /// Starts a browser. Prints a message and returns `None` if it is missing.
    pub(crate) fn start() -> Option<Self> {
        let started = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut driver) = started else {
            let _ = stderr().write_all(b"SKIPPED: chromedriver is not installed (Debian: chromium chromium-driver)\n");
            return None;
        };
        let mut lines = BufReader::new(driver.stdout.take().expect("standard output is piped")).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let rest = line.split("on port ").nth(1)?;
            rest.trim_end_matches('.').parse::<u16>().ok().filter(|port| *port != 0)
        });
        // The driver stops if its output is not read.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let mut browser = Self { driver, port: port.expect("chromedriver says its port"), session: String::new() };
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "unhandledPromptBehavior": "ignore",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1300,1000"
            ]}
        }}});
        let reply = browser.request("POST", "/session", &capabilities);
        if let Some(session) = reply["sessionId"].as_str() {
            browser.session = session.to_string();
            return Some(browser);
        }
        let _ = stderr().write_all(format!("SKIPPED: no browser starts: {reply}\n").as_bytes());
        None
    }

    /// Opens a file.
    pub(crate) fn open(&self, path: &Path) {
        let url = format!("file://{}", path.display());
        assert_eq!(self.command("POST", "url", &json!({"url": url})), Value::Null);
    }

    /// Returns the first element of a CSS selector.
    pub(crate) fn find(&self, selector: &str) -> Element {
        let found = self.command("POST", "element", &json!({"using": "css selector", "value": selector}));
        assert!(found["error"].is_null(), "{selector}: {found}");
        Element(found)
    }

    /// Types into an element. Special keys are code points in the private use area of Unicode.
    pub(crate) fn keys(&self, element: &Element, text: &str) {
        let reply = self.command("POST", &format!("element/{}/value", element.id()), &json!({"text": text}));
        assert_eq!(reply, Value::Null);
    }

    /// Returns the visible text.
    pub(crate) fn text(&self, element: &Element) -> String {
        let reply = self.command("GET", &format!("element/{}/text", element.id()), &Value::Null);
        reply.as_str().unwrap_or_else(|| panic!("{reply}")).to_string()
    }

    /// Returns the value of an expression in the page.
    pub(crate) fn evaluate(&self, script: &str) -> Value {
        self.command("POST", "execute/sync", &json!({"script": format!("return {script}"), "args": []}))
    }

    /// Moves the mouse to a position relative to the middle of an element, and clicks if requested.
    pub(crate) fn point(&self, element: &Element, x: i64, y: i64, click: bool) {
        let mut steps = vec![json!({"type": "pointerMove", "duration": 0, "x": x, "y": y, "origin": element.0})];
        if click {
            steps.push(json!({"type": "pointerDown", "button": 0}));
            steps.push(json!({"type": "pointerUp", "button": 0}));
        }
        let actions = json!({"actions": [{"type": "pointer", "id": "mouse", "actions": steps}]});
        assert_eq!(self.command("POST", "actions", &actions), Value::Null);
    }

    /// Answers a prompt of the page.
    pub(crate) fn answer(&self, text: &str) {
        // The prompt may appear late on a busy machine.
        let until = Instant::now() + Duration::from_secs(20);
        let typed = loop {
            let reply = self.command("POST", "alert/text", &json!({"text": text}));
            if reply["error"] != "no such alert" || Instant::now() >= until {
                break reply;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(typed, Value::Null);
        assert_eq!(self.command("POST", "alert/accept", &json!({})), Value::Null);
    }

    /// Shows the page with a dark or light color scheme.
    pub(crate) fn prefer(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let command = json!({"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}});
        self.command("POST", "goog/cdp/execute", &command);
    }

    /// Returns the errors of the page's scripts and of its content security policy.
    pub(crate) fn errors(&self) -> Vec<String> {
        let log = self.command("POST", "se/log", &json!({"type": "browser"}));
        let entries = log.as_array().cloned().unwrap_or_else(|| panic!("{log}"));
        entries.iter().filter(|entry| entry["level"] == "SEVERE").map(ToString::to_string).collect()
    }

    /// Saves a screenshot of the page.
    pub(crate) fn screenshot(&self, path: &Path) {
        let reply = self.command("GET", "screenshot", &Value::Null);
        std::fs::write(path, decode_base64(reply.as_str().unwrap_or_default())).unwrap();
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.request(method, &format!("/session/{}/{path}", self.session), body)
    }

    /// Sends a request. Returns the `value` of the response.
    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = connect(self.port);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut reply = vec![0; length];
        reader.read_exact(&mut reply).unwrap();
        let mut reply: Value = serde_json::from_slice(&reply).unwrap();
        reply["value"].take()
    }
}

impl Element {
    fn id(&self) -> &str {
        self.0
            .as_object()
            .and_then(|object| object.values().next())
            .and_then(Value::as_str)
            .expect("an element has an id")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.request("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn connect(port: u16) -> TcpStream {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => {
                stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
                return stream;
            }
            Err(error) if Instant::now() > deadline => panic!("chromedriver does not listen: {error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn decode_base64(text: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
