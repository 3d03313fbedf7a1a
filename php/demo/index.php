<?php

declare(strict_types=1);

require __DIR__ . '/ApiController.php';

$api = new ApiController();
match (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
    '/api/v1/trending' => $api->trending(),
    '/api/v1/feed' => $api->feed(),
    '/api/v1/search' => $api->search(),
    default => http_response_code(404),
};
