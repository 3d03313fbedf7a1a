--TEST--
Identities are bytes: NUL, invalid UTF-8, blanks and the empty string are legal and distinct
--FILE--
<?php
$identities = ['', "\0", "\0\0", "a\0b", 'a', "\xff\xfe", "\xff", 'a b', ' ', '}x', 'a{b}c', ':', '0', str_repeat('x', 100_000)];
foreach ([SlidingWindowLog::class, SlidingWindowCounter::class] as $class) {
    $limiter = new $class('memory://', 2, 31_536_000);
    foreach ($identities as $identity) {
        if ($limiter->check($identity)['remaining'] !== 1) echo bin2hex($identity), " is not fresh\n";
    }
    $limiter->reset("a\0b");
    foreach ($identities as $identity) {
        $expected = $identity === "a\0b" ? 2 : 1;
        if ($limiter->peek($identity)->remaining !== $expected) echo bin2hex($identity), " was touched\n";
    }
}
echo "done\n";
?>
--EXPECT--
done
