<?php

declare(strict_types=1);

echo rate_limit_identity($_SERVER['REMOTE_ADDR'], 'trending');
