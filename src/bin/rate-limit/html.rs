//! stub
pub fn page(_: &crate::report::Report) -> String {
    String::new()
}
