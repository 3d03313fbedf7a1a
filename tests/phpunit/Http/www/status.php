<?php

declare(strict_types=1);

echo json_encode(rate_limit_status());
