-- The sliding window counter: one integer a window, of the units admitted in it.
-- KEYS[1]  the window before the caller's
-- KEYS[2]  the caller's window
-- KEYS[3]  the window after it: there when other callers have overtaken this one
-- ARGV[1]  window, microseconds
-- ARGV[2]  time since the caller's window began, microseconds
-- ARGV[3]  limit, units
-- ARGV[4]  cost, units
-- ARGV[5]  '1': record what is admitted; '0': write nothing at all
-- ARGV[6]  units of the client's earlier identities in the caller's window
-- ARGV[7]  and in the window before it
-- Returns  {admitted 1 or 0, overtaken 1 or 0, units of the current window, units of the one before},
--          those of earlier identities included

local window, elapsed = tonumber(ARGV[1]), tonumber(ARGV[2])
local limit, cost, record = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'

-- The units under a key, and whether it is there. A double holds whole numbers up to 2^53.
local function units(key)
  local value = redis.call('GET', key)
  if not value then
    return 0, false
  end
  local number = (value == '0' or string.find(value, '^[1-9]%d*$')) and tonumber(value)
  if not number or number > 9007199254740992 then
    error('WRONGTYPE a counter key does not hold a number of units')
  end
  return number, true
end

-- floor(prev * share / window), exact: where the product would pass 2^53 the division goes in
-- steps of 7 bits of prev, whose remainders stay below window < 2^45.
local function carried(prev, share)
  if prev * share < 9007199254740992 then
    local product = prev * share
    return (product - math.fmod(product, window)) / window
  end
  local quotient, remainder, unit = 0, 0, 2 ^ 49
  while unit >= 1 do
    local digits = math.floor(prev / unit)
    prev = prev - digits * unit
    local part = remainder * 128 + digits * share
    remainder = math.fmod(part, window)
    quotient = quotient * 128 + (part - remainder) / window
    unit = unit / 128
  end
  return quotient
end

local before, here, after = KEYS[1], KEYS[2], KEYS[3]
local curr, here_exists = units(here)
local next_curr, overtaken = units(after)
local prev, before_exists
curr = curr + tonumber(ARGV[6])
if overtaken then
  before, here, elapsed = here, after, 0
  prev, before_exists, curr, here_exists = curr, here_exists, next_curr, true
else
  prev, before_exists = units(before)
  prev = prev + tonumber(ARGV[7])
end

local admitted = curr + carried(prev, window - elapsed) + cost <= limit
if record then
  -- A window's units count until the window after it ends; a second more for clocks that differ.
  local ends_in = math.ceil((window - elapsed) / 1000) + 1000
  if admitted then
    redis.call('INCRBY', here, ARGV[4])
    redis.call('PEXPIRE', here, ends_in + window / 1000)
  elseif here_exists and redis.call('PTTL', here) == -1 then
    redis.call('PEXPIRE', here, ends_in + window / 1000)
  end
  if before_exists and redis.call('PTTL', before) == -1 then
    redis.call('PEXPIRE', before, ends_in)
  end
end
return { admitted and 1 or 0, overtaken and 1 or 0, curr, prev }
