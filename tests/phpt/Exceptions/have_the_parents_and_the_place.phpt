--TEST--
Exceptions have the documented parents, can be made by PHP, and say where they were thrown
--SKIPIF--
<?php if (extension_loaded('redis')) die('skip the parents are those without ext-redis'); ?>
--FILE--
<?php
foreach ([RateLimit\StoreException::class, RateLimit\ConfigException::class] as $class) {
    $made = new $class('text', 5, new Exception('cause'));
    echo $class, ' ', get_parent_class($class), ' ', $made->getMessage(), ' ', $made->getCode(), ' ', $made->getPrevious()->getMessage(), "\n";
    var_dump($made instanceof RateLimit\Exception, $made->getLine());
}
var_dump(is_subclass_of(RateLimit\Exception::class, Throwable::class));
try {
    (new SlidingWindowLog('redis://:secret@127.0.0.1:1', 1, 1))->check('identity');
} catch (RateLimit\StoreException $error) {
    echo basename($error->getFile()), ' ', $error->getLine(), "\n", $error->getTraceAsString(), "\n";
}
try {
    new SlidingWindowLog('redis://:secret@', 1, 1);
} catch (RateLimit\ConfigException $error) {
    echo basename($error->getFile()), ' ', $error->getLine(), "\n", $error->getTraceAsString(), "\n";
}
?>
--EXPECTF--
RateLimit\StoreException RuntimeException text 5 cause
bool(true)
int(3)
RateLimit\ConfigException InvalidArgumentException text 5 cause
bool(true)
int(3)
bool(true)
%Arate_limit: redis://127.0.0.1:1: Connection refused (os error 111)
%Ahave_the_parents_and_the_place.php 9
#0 %s(9): SlidingWindowLog->check('identity')
#1 {main}
have_the_parents_and_the_place.php 14
#0 %s(14): SlidingWindowLog->__construct(Object(SensitiveParameterValue), 1, 1)
#1 {main}
