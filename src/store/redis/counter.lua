-- The sliding window counter: one integer a window, of the units admitted in it.
-- KEYS[1]  the window before the caller's
-- KEYS[2]  the caller's window
-- KEYS[3]  the window after it, given near the end of the caller's: there when other callers have
--          overtaken this one
-- ARGV[1]  window, microseconds
-- ARGV[2]  limit, units
-- ARGV[3]  time since the caller's window began, microseconds
-- ARGV[4] and on are left out together where they are what most calls say: each argument takes as
-- long as a fifth of a command.
-- ARGV[4]  cost, units; 1
-- ARGV[5]  '1': record what is admitted; '0': write nothing at all; 1
-- ARGV[6]  units of the client's earlier identities in the caller's window; 0
-- ARGV[7]  and in the window before it; 0
-- Returns  'admitted overtaken current before': 1 or 0, 1 or 0, the units of the current window and of
--          the one before, as the keys have them

-- Arithmetic reads a number in a string by itself, in less time than tonumber(), and ends the script
-- where there is none; and one string is returned sooner than four numbers.

local call, arg, keys = redis.call, ARGV, KEYS
local before, here = keys[1], keys[2]
local window, overtaken = arg[1] + 0, '0 '
local share = window - arg[3]
local prev, curr = call('GET', before), call('GET', here)
local next_curr = keys[3] and call('GET', keys[3])
if next_curr then
  before, here, overtaken, share = here, keys[3], '1 ', window
  prev, curr = curr, next_curr
end

-- A double holds whole numbers up to 2^53.
local units, units_before, carried = 0, 0, 0
if curr then
  units = curr + 0
  if units % 1 ~= 0 or units < 0 or units > 9007199254740992 then
    error('WRONGTYPE a counter key does not hold a number of units')
  end
end
if prev then
  units_before = prev + 0
  if units_before % 1 ~= 0 or units_before < 0 or units_before > 9007199254740992 then
    error('WRONGTYPE a counter key does not hold a number of units')
  end
end
if arg[6] then
  if next_curr then
    units_before = units_before + arg[6]
  else
    units, units_before = units + arg[6], units_before + arg[7]
  end
end

if units_before > 0 then
  -- floor(units_before * share / window), exact: where the product would pass 2^53 the division
  -- goes in steps of 7 bits of units_before, whose remainders stay below window < 2^45.
  local product = units_before * share
  if product < 9007199254740992 then
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
end

local admitted = units + carried + (arg[4] or 1) - arg[2] <= 0
if arg[5] ~= '0' then
  if admitted then
    call('INCRBY', here, arg[4] or '1')
  end
  -- A window's units count until the window after it ends; a second more for clocks that differ.
  -- Where they differ by more, the slowest host's has its way. Milliseconds; PTTL says -1 where there
  -- is no end, and looking takes less time than setting it again, here and on replicas.
  local lives = (window + share) / 1000 + 1000
  local left = curr and call('PTTL', here) or -1
  if curr and left == -1 or admitted and left + 100 < lives then
    call('PEXPIRE', here, math.ceil(lives))
  end
  -- The window before was looked after while it was the current one: the first call after it looks
  -- once more, and every 16th.
  if prev and (left == -1 or units % 16 == 0) and call('PTTL', before) == -1 then
    call('PEXPIRE', before, math.ceil(lives - window / 1000))
  end
end
return (admitted and '1 ' or '0 ') .. overtaken .. (curr or '0') .. ' ' .. (prev or '0')
