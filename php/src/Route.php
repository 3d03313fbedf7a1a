<?php

declare(strict_types=1);

namespace RateLimit;

/**
 * Which requests some limits are for: methods, if it names any, and a path.
 *
 *     /api/v1/trending     this path
 *     /users/{id}/posts    one segment stands for {id}
 *     /api/*               /api and everything beneath it
 *     GET|POST /api/*      these methods only; GET means HEAD as well, which PHP answers by the same code
 */
final readonly class Route
{
    private string $pattern;

    /** @var list<string> empty: all */
    private array $methods;

    /**
     * @param string $template as above; it is part of the identity
     * @param list<Policy> $policies a request must pass all of them
     * @throws InvalidRules
     */
    public function __construct(public string $template, public array $policies = [])
    {
        if (preg_match('~^(?:([A-Z]+(?:\|[A-Z]+)*) )?(?=/)([^*]*?)(/\*)?$~D', $template, $part) !== 1) {
            throw new InvalidRules(Section::show($template)
                . ": must be a path such as '/users/{id}' or '/api/*', with or without methods ('GET|POST /api/*')");
        }
        $methods = $part[1] === '' ? [] : explode('|', $part[1]);
        $this->methods = in_array('GET', $methods, true) ? [...$methods, 'HEAD'] : $methods;
        $path = preg_quote(Path::resolve($part[2]), '~');
        $path = preg_replace('~\\\\\{[^/{}]+\\\\\}~', '[^/]+', $path);
        $this->pattern = '~^' . rtrim($path, '/') . (isset($part[3]) ? '(?:/.*)?' : '/?') . '$~Ds';
    }

    /** @param string $path as Path::canonical() gives it */
    public function matches(string $method, string $path): bool
    {
        return ($this->methods === [] || in_array($method, $this->methods, true))
            && preg_match($this->pattern, $path) === 1;
    }

    /** Whether no request is left for `$later` when this route is asked first. */
    public function hides(self $later): bool
    {
        $methods = $later->methods === [] ? [''] : $later->methods;
        $path = preg_replace('~^[^/]*|/\*$~', '', $later->template);
        return array_all($methods, fn (string $method) => $this->matches($method, Path::resolve($path)))
            && (!str_ends_with($later->template, '*') || str_ends_with($this->template, '*'));
    }
}
