//! Calls on client objects, and what their answers mean. After every call the pending exception is
//! looked for; a method that is missing counts as one that threw.

use std::ptr;

use ext_php_rs::ffi::{
    _call_user_function_impl, ext_php_rs_executor_globals, instanceof_function_slow,
    zend_ce_exception, zend_class_entry, zend_hash_str_find_ptr_lc, zval,
};
use ext_php_rs::types::Zval;

use super::value;
use super::zend::{self, Thrown};

/// What a client object is, by the class that it has or extends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Redis,
    Cluster,
    Relay,
    Predis,
}

const KINDS: [(&str, Kind); 4] = [
    ("Redis", Kind::Redis),
    ("RedisCluster", Kind::Cluster),
    ("Relay\\Relay", Kind::Relay),
    ("Predis\\ClientInterface", Kind::Predis),
];

/// What `object` is, if it is a client that we know.
pub fn kind(object: &Zval) -> Option<Kind> {
    KINDS.iter().find(|(name, _)| is_a(object, name)).map(|known| known.1)
}

/// Whether a value is an object of this class, of one that extends it, or of one that implements it.
pub fn is_a(value: &Zval, class: &str) -> bool {
    class_of(value).is_some_and(|own| instance_of(own, find_class(class)))
}

/// Whether the object is a `Redis` itself and nothing that extends it.
pub fn is_plain_redis(object: &Zval) -> bool {
    class_of(object).is_some_and(|class| class == find_class("Redis"))
}

/// A declared class, without loading one; null where there is none.
fn find_class(name: &str) -> *mut zend_class_entry {
    // SAFETY: the engine's globals exist during a request.
    let globals = unsafe { ext_php_rs_executor_globals() };
    // SAFETY: as above.
    let table = unsafe { (*globals).class_table };
    // SAFETY: the name is as long as is said.
    unsafe { zend_hash_str_find_ptr_lc(table, name.as_ptr().cast(), name.len()) }.cast()
}

fn class_of(object: &Zval) -> Option<*mut zend_class_entry> {
    object.object().map(|object| object.ce)
}

fn instance_of(class: *mut zend_class_entry, of: *mut zend_class_entry) -> bool {
    if class.is_null() || of.is_null() || class == of {
        return class == of && !class.is_null();
    }
    // SAFETY: two declared classes.
    unsafe { instanceof_function_slow(class, of) }
}

/// Calls a method.
pub fn call(object: &Zval, method: &str, mut arguments: Vec<Zval>) -> Result<Zval, Thrown> {
    let mut name = value::new_string(method.as_bytes());
    let mut answer = Zval::new();
    let target: *mut zval = ptr::from_ref(object).cast_mut();
    let (count, list) = (arguments.len() as u32, arguments.as_mut_ptr());
    // SAFETY: all live until the call returns; the engine copies what it keeps.
    unsafe {
        _call_user_function_impl(
            target,
            &raw mut name,
            &raw mut answer,
            count,
            list,
            ptr::null_mut(),
        )
    };
    zend::thrown().map(|()| answer)
}

/// Asks a question that has an answer only while the server is there: none where an `Exception` says
/// that it is not. The policy for failures decides then, when the limiter is used.
pub fn ask(object: &Zval, method: &str, arguments: Vec<Zval>) -> Result<Option<Zval>, Thrown> {
    match call(object, method, arguments) {
        Ok(answer) => Ok(Some(answer)),
        Err(Thrown) => take_exception().map(|_| None).ok_or(Thrown),
    }
}

/// Takes the pending exception if it is an `Exception`; an `Error` stays.
pub fn take_exception() -> Option<Zval> {
    let class = zend::pending_class()?;
    // SAFETY: the engine declares the class before any module starts.
    instance_of(class, unsafe { zend_ce_exception }).then(zend::take_exception)?
}

/// What an exception says.
pub fn exception_message(exception: &Zval) -> String {
    call(exception, "getMessage", vec![]).ok().as_ref().and_then(text).unwrap_or_default()
}

/// A string, if the value is one.
pub fn text(value: &Zval) -> Option<String> {
    bytes(value).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// The bytes of a string, if the value is one.
pub fn bytes(value: &Zval) -> Option<&[u8]> {
    value.zend_str().map(|text| text.as_bytes())
}

/// Fills `into` from an array of exactly as many ints.
pub fn integers(answer: &Zval, into: &mut [i64]) -> Option<()> {
    let array = answer.array().filter(|array| array.len() == into.len())?;
    for (slot, value) in into.iter_mut().zip(array.values()) {
        *slot = value.long()?;
    }
    Some(())
}

/// Exactly two whole numbers, which the server sent as strings.
pub fn integers_of_texts(answer: &Zval) -> Option<[u64; 2]> {
    let array = answer.array().filter(|array| array.len() == 2)?;
    let mut numbers = array.values().map(|value| text(value)?.parse().ok());
    Some([numbers.next()??, numbers.next()??])
}

/// The key prefix that the object is set to; none where it cannot connect, and has no options then.
pub fn prefix(object: &Zval) -> Result<Vec<u8>, Thrown> {
    const OPT_PREFIX: i64 = 2; // Redis::OPT_PREFIX, RedisCluster's and Relay's
    let prefix = ask(object, "getOption", vec![value::long(OPT_PREFIX)])?;
    Ok(prefix.as_ref().and_then(bytes).unwrap_or_default().to_vec())
}

/// Whether the object speaks to a Cluster.
pub fn is_cluster(object: &Zval, kind: Kind) -> Result<bool, Thrown> {
    match kind {
        Kind::Redis | Kind::Relay => Ok(false),
        Kind::Cluster => Ok(true),
        Kind::Predis => {
            let connection = call(object, "getConnection", vec![])?;
            Ok(is_a(&connection, "Predis\\Connection\\Cluster\\ClusterInterface"))
        }
    }
}

/// What else tells the object's store from others on the same server, as far as the object knows it:
/// user, password, database and prefix. Secret.
pub fn belongings(object: &Zval, kind: Kind) -> Result<Vec<Vec<u8>>, Thrown> {
    let mut parts = Vec::new();
    let mut add = |value: &Zval| match value.array() {
        Some(list) => parts.extend(list.values().map(|v| bytes(v).unwrap_or_default().to_vec())),
        None => parts.push(value.coerce_to_string().unwrap_or_default().into_bytes()),
    };
    match kind {
        Kind::Redis | Kind::Relay => {
            for question in ["getAuth", "getDbNum"] {
                add(&ask(object, question, vec![])?.unwrap_or_else(value::null));
            }
            parts.push(prefix(object)?);
        }
        Kind::Cluster => parts.push(prefix(object)?),
        Kind::Predis => {
            let named =
                |of: &Zval, name: &str| call(of, "__get", vec![value::new_string(name.as_bytes())]);
            let options = call(object, "getOptions", vec![])?;
            let processor = named(&options, "prefix")?;
            if processor.is_object() {
                add(&call(&processor, "getPrefix", vec![])?);
            }
            let connection = call(object, "getConnection", vec![])?;
            let node = find_class("Predis\\Connection\\NodeConnectionInterface");
            if class_of(&connection).is_some_and(|class| instance_of(class, node)) {
                let parameters = call(&connection, "getParameters", vec![])?;
                for name in ["username", "password", "database"] {
                    add(&named(&parameters, name)?);
                }
            }
        }
    }
    Ok(parts)
}

/// The server's address where the object tells one, else the object's class.
pub fn address(object: &Zval, kind: Kind) -> Result<String, Thrown> {
    let told = match kind {
        Kind::Redis | Kind::Relay => {
            let (host, port) = (ask(object, "getHost", vec![])?, ask(object, "getPort", vec![])?);
            host_and_port(host.as_ref(), port.as_ref())
        }
        Kind::Cluster => {
            let masters = ask(object, "_masters", vec![])?;
            let first =
                masters.as_ref().and_then(Zval::array).and_then(|list| list.values().next());
            let first = first.and_then(Zval::array);
            host_and_port(first.and_then(|n| n.get_index(0)), first.and_then(|n| n.get_index(1)))
        }
        Kind::Predis => {
            let connection = call(object, "getConnection", vec![])?;
            match is_a(&connection, "Predis\\Connection\\NodeConnectionInterface") {
                true => ask(&connection, "__toString", vec![])?.as_ref().and_then(text),
                false => None,
            }
        }
    };
    let class = object.object().and_then(|object| object.get_class_name().ok()).unwrap_or_default();
    let class = class.split('\0').next().unwrap_or_default(); // an anonymous class has its file's path there
    Ok(told.map_or(class.to_owned(), |told| format!("{class} at {told}")))
}

fn host_and_port(host: Option<&Zval>, port: Option<&Zval>) -> Option<String> {
    let host = host.and_then(text).filter(|host| !host.is_empty())?;
    match port.and_then(Zval::long) {
        Some(port) if port > 0 => Some(format!("{host}:{port}")),
        _ => Some(host),
    }
}
