//! How settings are written: numbers, words, and a store without its password.

use std::ffi::c_int;

use ext_php_rs::ffi::{php_output_write, zend_ini_entry};

use super::value;
use crate::core::time::{Micros, SECOND};
use crate::store::redis::Dsn;

/// The number of `value` among `names`.
pub fn one_of(value: &[u8], names: &[&str]) -> Option<u64> {
    names.iter().position(|name| name.as_bytes() == value).map(|i| i as u64)
}

/// A whole number from `least` to `most`.
pub fn whole(value: &[u8], least: u64, most: u64) -> Option<u64> {
    let number = std::str::from_utf8(value).ok()?.trim().parse().ok()?;
    (least..=most).contains(&number).then_some(number)
}

/// Microseconds from a number of seconds, from `least` to `most`.
pub fn seconds(value: &[u8], least: f64, most: f64) -> Option<Micros> {
    let number: f64 = std::str::from_utf8(value).ok()?.trim().parse().ok()?;
    (least..=most).contains(&number).then(|| (number * SECOND as f64).round() as Micros)
}

/// Bytes from digits and an optional K, M or G (powers of 1024).
pub fn size(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let (digits, unit) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1 << 10),
        (at, 'm' | 'M') => (&text[..at], 1 << 20),
        (at, 'g' | 'G') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    digits.trim_end().parse::<u64>().ok()?.checked_mul(unit)
}

/// 1 or 0, in the words that php.ini knows.
pub fn switch(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?.trim().to_ascii_lowercase();
    match text.as_str() {
        "1" | "on" | "yes" | "true" => Some(1),
        "" | "0" | "off" | "no" | "false" => Some(0),
        _ => None,
    }
}

/// A store's DSN without user, password and options; of one that cannot be read the scheme alone,
/// since whatever follows may be a password.
pub fn without_secrets(dsn: &[u8]) -> String {
    let dsn = String::from_utf8_lossy(dsn);
    let is_scheme =
        |text: &str| text.bytes().all(|b| b.is_ascii_alphabetic() || b"+-".contains(&b));
    match (Dsn::parse(&dsn), dsn.split_once("://")) {
        (Ok(dsn), _) => dsn.endpoint.to_string(),
        (Err(_), Some((scheme, rest))) if is_scheme(scheme) => {
            format!("{scheme}://{}", if rest.is_empty() { "" } else { "***" })
        }
        _ if dsn.is_empty() => String::new(),
        _ => "***".to_owned(),
    }
}

/// Shows `rate_limit.store` in phpinfo().
pub unsafe extern "C" fn display_store(entry: *mut zend_ini_entry, _: c_int) {
    // SAFETY: the engine passes the entry that it shows.
    let value = unsafe { (*entry).value };
    if value.is_null() {
        return;
    }
    // SAFETY: the entry owns its value.
    let text = without_secrets(unsafe { value::bytes(value) });
    let plain = text.replace(['<', '>', '&', '"'], "_"); // the page may be HTML
    // SAFETY: as long as is said.
    unsafe { php_output_write(plain.as_ptr().cast(), plain.len()) };
}
