//! The only module that names ext_php_rs.
