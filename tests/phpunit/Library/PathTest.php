<?php

declare(strict_types=1);

namespace RateLimit\Tests\Library;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RateLimit\Path;

final class PathTest extends TestCase
{
    #[DataProvider('spellings')]
    public function test_all_spellings_of_a_path_are_one(string $target, string $script = '/index.php'): void
    {
        self::assertSame('/api/v1/trending', Path::canonical($target, $script));
    }

    public static function spellings(): iterable
    {
        yield ['/api/v1/trending'];
        yield ['/api/v1/trending?page=2'];
        yield ['/api/v1/trending#top'];
        yield ['/api/v1/trending/'];
        yield ['//api//v1///trending'];
        yield ['/api/v1/%74rending'];
        yield ['/%61%70%69/v1/trending'];
        yield ['/api%2Fv1%2ftrending'];
        yield ['/api/./v1/x/../trending'];
        yield ['/api/x/%2e%2E/v1/trending/.'];
        yield ['/../../api/v1/trending'];
        yield ['/api/v1/trending/..%2ftrending'];
        yield ['/index.php/api/v1/trending'];
        yield ['/index.php//api/v1/trending/?a=/index.php/b'];
        yield ['/%69ndex.php/api/v1/trending'];
        yield ['/api/index.php/v1/trending', '/api/index.php'];
        yield ['http://example.org/api/v1/trending?x'];
        yield ['HTTPS://u:p@[2001:db8::1]:8443//api/v1/trending'];
        yield ['/x/api/index.php/v1/trending', '/api/index.php'];
        yield 'a script that is no front controller ignores what follows it' => ['/api/v1/trending/x/y', '/api/v1/trending'];
    }

    #[DataProvider('others')]
    public function test_other_paths_stay_others(string $target, ?string $path, string $script = ''): void
    {
        self::assertSame($path, Path::canonical($target, $script));
    }

    public static function others(): iterable
    {
        yield 'case' => ['/API/v1/Trending', '/API/v1/Trending'];
        yield 'encoded twice' => ['/api/%2574rending', '/api/%74rending'];
        yield 'plus' => ['/a+b', '/a+b'];
        yield 'UTF-8' => ['/caf%C3%A9', '/café'];
        yield 'root' => ['/', '/'];
        yield 'host alone' => ['http://example.org', '/'];
        yield 'front controller alone' => ['/index.php', '/', '/index.php'];
        yield 'front controller of a folder' => ['/blog/index.php', '/blog', '/blog/index.php'];
        yield 'a name that begins like the script' => ['/indexed.php/a', '/indexed.php/a', '/index.php'];
        yield 'the name further on' => ['/x/index.php/a', '/x/index.php/a', '/index.php'];
        yield 'another script' => ['/trending.php/index.php/x', '/trending.php', '/trending.php'];
        yield 'no script' => ['/index.php/a', '/index.php/a', ''];
    }

    #[DataProvider('undecodable')]
    public function test_what_cannot_be_decoded_is_no_path(string $target): void
    {
        self::assertNull(Path::canonical($target));
    }

    public static function undecodable(): iterable
    {
        return [['/a%'], ['/a%2'], ['/a%zz'], ['/a%00b'], ['/a%ff'], ["/a\xc3"], ['*'], [''], ['?x'], ['example.org:443']];
    }
}
