//! `rate-limit replay` as an operator runs it, and logs for it.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use flate2::read::GzEncoder;
use serde_json::Value;

/// 2026-12-01T00:00:00Z in Unix time.
pub const DAY: u64 = 1_796_083_200;

/// A line at `second` of 1 December 2026.
pub fn line(client: &str, second: u64, path: &str) -> String {
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{client} - - [01/Dec/2026:{hour:02}:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"agent\"\n"
    )
}

pub fn lines(client: &str, seconds: &[u64]) -> String {
    seconds.iter().map(|&second| line(client, second, "/")).collect()
}

pub fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rate-limit"))
        .arg("replay")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input)); // fails where the tool refuses before the end
        child.wait_with_output().unwrap()
    })
}

pub fn report(arguments: &[&str], input: &[u8]) -> Value {
    let output = run(&[&["--json"], arguments].concat(), input);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert_eq!(error, "", "nothing but results where there is no terminal");
    serde_json::from_slice(&output.stdout).unwrap()
}

pub fn refusal(arguments: &[&str], input: &[u8], code: i32) -> String {
    let output = run(arguments, input);
    assert_eq!(output.status.code(), Some(code));
    assert_eq!(output.stdout, b"");
    String::from_utf8(output.stderr).unwrap()
}

/// Denied requests and clients of log, counter and fixed.
pub fn denied(report: &Value) -> Vec<(u64, u64)> {
    let of = |name: &str, what: &str| report["algorithms"][name][what].as_u64().unwrap();
    ["log", "counter", "fixed"].map(|name| (of(name, "denied"), of(name, "denied_clients"))).into()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    GzEncoder::new(bytes, flate2::Compression::fast()).read_to_end(&mut packed).unwrap();
    packed
}

/// A folder for one test, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rate-limit-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
