<?php

declare(strict_types=1);

namespace RateLimit;

/**
 * One spelling for all the ways to write a path.
 *
 * Routers and web servers decode a path once, merge slashes and resolve dot segments, some before and some after
 * decoding. All of that is done here, so that whichever of them the application sits behind, what reaches
 * its code under one route is counted under one route. Case counts, as it does in PHP's routers.
 *
 *     /api/v1//trending/   /api/%761/trending   /api/v1%2Ftrending
 *     /api/x/../v1/./trending   /index.php/api/v1/trending
 *
 * are all `/api/v1/trending`. What an alternative reading could turn into a larger budget is not guessed at: a
 * path that cannot be decoded is none, and gets the default limit.
 */
final class Path
{
    /**
     * @param string $target the request target as it was sent: a path with or without query, or an absolute URL
     * @param string $script SCRIPT_NAME, the script that the web server chose; '' where there is none
     * @return ?string the path from the root, without a trailing slash; null where it cannot be decoded: a broken
     *     percent-encoding, a NUL, bytes that are not UTF-8, or no path at all
     */
    public static function canonical(string $target, string $script = ''): ?string
    {
        $path = rawurldecode(self::raw($target));
        if (
            preg_match('/%(?![0-9a-f]{2})/i', self::raw($target)) === 1
            || !str_starts_with($path, '/')
            || str_contains($path, "\0")
            || preg_match('//u', $path) !== 1
        ) {
            return null;
        }
        return self::withoutScript(self::resolve($path), self::resolve($script));
    }

    /** The path of a request target, as it was sent: without scheme, host, query and fragment. */
    public static function raw(string $target): string
    {
        $target = preg_replace('~^[a-z][a-z0-9+.-]*://[^/?#]*~i', '', $target, 1, $absolute);
        $path = substr($target, 0, strcspn($target, '?#'));
        return $path === '' && $absolute === 1 ? '/' : $path;
    }

    /** Slashes merged and dot segments resolved (RFC 3986, 5.2.4), of a path that is decoded. */
    public static function resolve(string $path): string
    {
        $segments = [];
        foreach (explode('/', $path) as $segment) {
            if ($segment === '..') {
                array_pop($segments);
            } elseif ($segment !== '' && $segment !== '.') {
                $segments[] = $segment;
            }
        }
        return '/' . implode('/', $segments);
    }

    /**
     * A front controller (index.php) takes what follows its own name for the path. Symfony and Laravel look for the
     * name further on too, where the path does not begin with the script's folder. Any other script ignores what
     * follows.
     */
    private static function withoutScript(string $path, string $script): string
    {
        $folder = dirname($script);
        $begins = static fn (string $prefix) => str_starts_with("$path/", rtrim($prefix, '/') . '/');
        if (basename($script) !== 'index.php') {
            return $script !== '/' && $begins($script) ? $script : $path;
        }
        $at = $begins($script) ? 0 : ($begins($folder) ? false : strpos("$path/", "$script/"));
        return $at === false ? $path : self::resolve($folder . '/' . substr($path, $at + strlen($script)));
    }
}
