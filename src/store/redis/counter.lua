-- The sliding window counter: one integer a window, of the units admitted in it.
-- KEYS[1]  the window before the caller's
-- KEYS[2]  the caller's window
-- KEYS[3]  the window after it, given near the end of the caller's: there when other callers have
--          overtaken this one
-- ARGV[1]  window, microseconds
-- ARGV[2]  time since the caller's window began, microseconds
-- ARGV[3]  limit, units
-- ARGV[4]  cost, units
-- ARGV[5]  '1': record what is admitted; '0': write nothing at all
-- ARGV[6]  units of the client's earlier identities in the caller's window
-- ARGV[7]  and in the window before it
-- Returns  {admitted 1 or 0, overtaken 1 or 0, units of the current window, units of the one before},
--          those of earlier identities included

local call = redis.call
local window, elapsed = tonumber(ARGV[1]), tonumber(ARGV[2])
local before, here, overtaken = KEYS[1], KEYS[2], 0
local prev, curr = call('GET', before), call('GET', here)
local next_curr = KEYS[3] and call('GET', KEYS[3])
if next_curr then
  before, here, overtaken, elapsed = here, KEYS[3], 1, 0
  prev, curr = curr, next_curr
end

-- A double holds whole numbers up to 2^53.
local units, units_before = tonumber(curr or 0), tonumber(prev or 0)
if not units or not units_before or units % 1 ~= 0 or units_before % 1 ~= 0 or units < 0
    or units_before < 0 or units > 9007199254740992 or units_before > 9007199254740992 then
  error('WRONGTYPE a counter key does not hold a number of units')
end

if overtaken == 1 then
  units_before = units_before + tonumber(ARGV[6])
else
  units, units_before = units + tonumber(ARGV[6]), units_before + tonumber(ARGV[7])
end

-- floor(units_before * share / window), exact: where the product would pass 2^53 the division goes
-- in steps of 7 bits of units_before, whose remainders stay below window < 2^45.
local share, carried = window - elapsed, 0
if units_before * share < 9007199254740992 then
  local product = units_before * share
  carried = (product - product % window) / window
else
  local rest, remainder, unit = units_before, 0, 2 ^ 49
  while unit >= 1 do
    local digits = math.floor(rest / unit)
    rest = rest - digits * unit
    local part = remainder * 128 + digits * share
    remainder = part % window
    carried = carried * 128 + (part - remainder) / window
    unit = unit / 128
  end
end

local admitted = units + carried + tonumber(ARGV[4]) <= tonumber(ARGV[3])
if ARGV[5] == '1' then
  -- A window's units count until the window after it ends; a second more for clocks that differ.
  local ends_in = math.ceil(share / 1000) + 1000
  if admitted then
    call('INCRBY', here, ARGV[4])
    call('PEXPIRE', here, ends_in + window / 1000)
  elseif curr and call('PTTL', here) == -1 then
    call('PEXPIRE', here, ends_in + window / 1000)
  end
  if prev and call('PTTL', before) == -1 then
    call('PEXPIRE', before, ends_in)
  end
end
return { admitted and 1 or 0, overtaken, units, units_before }
