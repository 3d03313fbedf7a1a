--TEST--
Two limiters are never equal, one is equal to itself, and with other values they compare as objects do
--FILE--
<?php
foreach ([SlidingWindowLog::class, SlidingWindowCounter::class] as $class) {
    [$ten, $twenty, $again] = [new $class('memory://', 10, 60), new $class('memory://', 20, 60), new $class('memory://', 10, 60)];
    var_dump($ten == $twenty || $ten == $again || $ten < $twenty || $ten > $twenty, in_array($again, [$ten, $twenty]));
    var_dump($ten == $ten, $ten == true, $ten == null, $ten == new stdClass(), $ten == 'ten');
}
?>
--EXPECT--
bool(false)
bool(false)
bool(true)
bool(true)
bool(false)
bool(false)
bool(false)
bool(false)
bool(false)
bool(true)
bool(true)
bool(false)
bool(false)
bool(false)
