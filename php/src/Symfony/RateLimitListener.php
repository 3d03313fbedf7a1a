<?php

declare(strict_types=1);

namespace RateLimit\Symfony;

use RateLimit\Answer;
use RateLimit\Guard;
use RateLimit\Request as LimitedRequest;
use Symfony\Component\EventDispatcher\EventSubscriberInterface;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Event\RequestEvent;
use Symfony\Component\HttpKernel\Event\ResponseEvent;
use Symfony\Component\HttpKernel\KernelEvents;

/**
 * Limits the main request by a file of rules, before the router and the session. Controllers find the answer in the
 * request's attribute `RateLimit\Answer`.
 */
final readonly class RateLimitListener implements EventSubscriberInterface
{
    public function __construct(private Guard $guard)
    {
    }

    public static function getSubscribedEvents(): array
    {
        return [KernelEvents::REQUEST => ['onRequest', 512], KernelEvents::RESPONSE => 'onResponse'];
    }

    public function onRequest(RequestEvent $event): void
    {
        if (!$event->isMainRequest()) {
            return;
        }
        $request = $event->getRequest();
        $answer = $this->guard->answer(new LimitedRequest(
            $request->getRealMethod(),
            (string) $request->server->get('REQUEST_URI'),
            $request->server->all(),
            $request->getClientIp(),
        ));
        $request->attributes->set(Answer::class, $answer);
        if ($answer->denies()) {
            $event->setResponse(new Response($answer->body, $answer->status));
        }
    }

    public function onResponse(ResponseEvent $event): void
    {
        $answer = $event->getRequest()->attributes->get(Answer::class);
        foreach ($event->isMainRequest() && $answer instanceof Answer ? $answer->headers : [] as $name => $value) {
            $event->getResponse()->headers->set($name, $value, replace: $name !== Answer::EXPOSE);
        }
    }
}
