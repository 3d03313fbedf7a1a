--TEST--
RateLimit\StoreException extends RuntimeException where phpredis is not loaded
--SKIPIF--
<?php
if (extension_loaded('redis')) {
    die('skip phpredis is loaded');
}
?>
--FILE--
<?php
var_dump(get_parent_class(RateLimit\StoreException::class));
var_dump(is_subclass_of(RateLimit\StoreException::class, RateLimit\Exception::class));
?>
--EXPECT--
string(16) "RuntimeException"
bool(true)
