//! One line of a log that is written as JSON objects, one a line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use rate_limit::core::time::Micros;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::line::{Entry, checked_client, path, target};
use crate::timestamp::{Dates, from_number, from_text};

/// Where the client's address is looked for, the preferred field first: the names that nginx's
/// variables have, and those of Caddy, Traefik and Logstash. `a.b` is the field `b` of the object `a`.
pub const CLIENT: &str = "client_ip remote_addr remote_ip clientip ip client ClientHost request.client_ip request.remote_ip";
/// Where the time is looked for.
pub const TIME: &str = "time_iso8601 time_local msec timestamp @timestamp time ts StartUTC";
/// Where the path, or a whole request line, is looked for.
pub const PATH: &str = "request_uri uri path url RequestPath request request.uri";

/// The fields that are read, as a tree: those of the line's object, each with those within it.
#[derive(Default)]
pub struct Fields {
    /// Which of client, time and path a field of this name is, and its rank among its likes.
    is: Option<(usize, usize)>,
    within: HashMap<String, Fields>,
}

impl Fields {
    /// Names of the client's, the time's and the path's fields, apart by spaces as in [`CLIENT`].
    pub fn new(client: &str, time: &str, path: &str) -> Self {
        let mut fields = Self::default();
        for (kind, names) in [client, time, path].into_iter().enumerate() {
            for (rank, name) in names.split_whitespace().enumerate() {
                // Flat keys with dots in them are common too.
                fields.at([name]).is = Some((kind, rank));
                fields.at(name.split('.')).is = Some((kind, rank));
            }
        }
        fields
    }

    fn at<'n>(&mut self, way: impl IntoIterator<Item = &'n str>) -> &mut Self {
        way.into_iter().fold(self, |fields, name| fields.within.entry(name.to_owned()).or_default())
    }
}

/// Reads a line, or says what it lacks.
pub fn parse<'a>(
    line: &'a [u8],
    fields: &Fields,
    dates: &mut Dates,
) -> Result<Entry<'a>, &'static str> {
    let mut found = Found::default();
    let mut json = serde_json::Deserializer::from_slice(line);
    (Value { fields, found: &mut found }.deserialize(&mut json))
        .and_then(|()| json.end())
        .map_err(|_| "not a JSON object")?;
    let [client, time, path] = found.map(|best| best.map(|(_, scalar)| scalar));
    let client = match client {
        Some(Scalar::Text(Cow::Borrowed(text))) => text.as_bytes().into(),
        Some(Scalar::Text(Cow::Owned(text))) => text.into_bytes().into(),
        _ => return Err("no field with the client's address"),
    };
    let time = time.and_then(|time| time.micros(dates)).ok_or("no field with a time")?;
    let path = match path {
        Some(Scalar::Text(Cow::Borrowed(text))) => request_path(text).into(),
        Some(Scalar::Text(Cow::Owned(text))) => request_path(&text).to_vec().into(),
        _ => b"-"[..].into(),
    };
    Ok(Entry { time, client: checked_client(client)?, path })
}

/// The path of `/a?b` or of `GET /a?b HTTP/1.1`.
fn request_path(text: &str) -> &[u8] {
    let text = text.as_bytes();
    path(if text.starts_with(b"/") { text } else { target(text) })
}

enum Scalar<'a> {
    Text(Cow<'a, str>),
    Number(f64),
}

impl Scalar<'_> {
    fn micros(&self, dates: &mut Dates) -> Option<Micros> {
        match self {
            Self::Text(text) => from_text(text, dates),
            Self::Number(number) => from_number(*number),
        }
    }
}

/// Client, time and path, each with the rank of its name.
type Found<'a> = [Option<(usize, Scalar<'a>)>; 3];

/// Visits a value and, where it is an object, those within it that [`Fields`] name.
struct Value<'f, 'r, 'a> {
    fields: &'f Fields,
    found: &'r mut Found<'a>,
}

impl<'a> Value<'_, '_, 'a> {
    fn offer(self, scalar: Scalar<'a>) {
        let Some((kind, rank)) = self.fields.is else { return };
        let best = &mut self.found[kind];
        if best.as_ref().is_none_or(|(known, _)| rank <= *known) {
            *best = Some((rank, scalar));
        }
    }
}

impl<'a> DeserializeSeed<'a> for Value<'_, '_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Value<'_, '_, 'a> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(fields) = map.next_key_seed(Key(self.fields))? {
            match fields {
                Some(fields) => map.next_value_seed(Value { fields, found: self.found })?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<(), E> {
        self.offer(Scalar::Text(text.into()));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.offer(Scalar::Text(text.to_owned().into()));
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.offer(Scalar::Number(number));
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Looks a key up among the fields of an object.
struct Key<'f>(&'f Fields);

impl<'a, 'f> DeserializeSeed<'a> for Key<'f> {
    type Value = Option<&'f Fields>;

    fn deserialize<D: Deserializer<'a>>(self, key: D) -> Result<Self::Value, D::Error> {
        key.deserialize_str(self)
    }
}

impl<'f> Visitor<'_> for Key<'f> {
    type Value = Option<&'f Fields>;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.within.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Micros, String, String), &'static str> {
        let text = |bytes: Cow<[u8]>| String::from_utf8(bytes.into_owned()).unwrap();
        parse(line.as_bytes(), &Fields::new(CLIENT, TIME, PATH), &mut Dates::default())
            .map(|e| (e.time, text(e.client), text(e.path)))
    }

    #[test]
    fn the_forms_of_nginx_caddy_traefik_and_logstash_are_read() {
        let at = 1_796_104_800_500_000; // 2026-12-01T06:00:00.5Z
        for line in [
            r#"{"msec":"1796104800.500","remote_addr":"192.0.2.1","request_uri":"/a?b=1","args":[1,{"ip":"no"}]}"#,
            r#"{"time_iso8601":"2026-12-01T07:00:00.5+01:00","remote_addr":"192.0.2.1","request":"GET /a?b HTTP/1.1"}"#,
            r#"{"level":"info","ts":1796104800.5,"request":{"remote_ip":"10.0.0.1","client_ip":"192.0.2.1","uri":"/a","headers":{"Ip":["x"]}}}"#,
            r#"{"ClientHost":"192.0.2.1","RequestPath":"/a","StartUTC":"2026-12-01T06:00:00.5Z","x":null,"y":true,"z":-1}"#,
            r#"{"@timestamp":1796104800500,"client":null,"clientip":"192.0.2.1","path":"\/a"}"#,
        ] {
            assert_eq!(read(line), Ok((at, "192.0.2.1".into(), "/a".into())), "{line}");
        }
    }

    #[test]
    fn the_preferred_name_wins_wherever_it_stands() {
        for line in [
            r#"{"time":1,"ip":"192.0.2.2","client_ip":"192.0.2.1"}"#,
            r#"{"client_ip":"192.0.2.1","ip":"192.0.2.2","time":1}"#,
        ] {
            assert_eq!(read(line).unwrap().1, "192.0.2.1");
        }
    }

    #[test]
    fn names_can_be_given_and_lead_into_objects() {
        let fields = Fields::new("source.ip", "event.at", "http.path");
        for line in [
            r#"{"source":{"ip":"192.0.2.1"},"event":{"at":60},"http":{"path":"/a"},"ip":"no"}"#,
            r#"{"source.ip":"192.0.2.1","event.at":60,"http.path":"/a"}"#,
        ] {
            let entry = parse(line.as_bytes(), &fields, &mut Dates::default()).unwrap();
            assert_eq!(
                (entry.time, &*entry.client, &*entry.path),
                (60_000_000, &b"192.0.2.1"[..], &b"/a"[..])
            );
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (line, rule) in [
            (r#"{"time":1,"ip":"192.0.2.1""#, "not a JSON object"),
            (r#"{"time":1,"ip":"192.0.2.1"} trailing"#, "not a JSON object"),
            (r#"{"time":1}"#, "client"),
            (r#"{"time":1,"ip":7}"#, "client"),
            (r#"{"time":1,"ip":""}"#, "client"),
            (r#"{"ip":"192.0.2.1"}"#, "time"),
            (r#"{"ip":"192.0.2.1","time":"soon"}"#, "time"),
        ] {
            assert!(read(line).unwrap_err().contains(rule), "{line}");
        }
        let deep = format!(r#"{{"a":{}"#, "[".repeat(100_000));
        assert_eq!(read(&deep), Err("not a JSON object"));
    }
}
