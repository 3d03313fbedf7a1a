-- The sliding window log as a list of the times of admitted units, oldest first.
-- KEYS[1]  the log
-- ARGV[1]  now, microseconds since the epoch
-- ARGV[2]  horizon, now - window, microseconds: an entry counts if and only if it is later
-- ARGV[3]  limit, units
-- ARGV[4]  time to live of the key, milliseconds
-- ARGV[5] and on are left out together where they are what most calls say: each argument takes as
-- long as a fifth of a command.
-- ARGV[5]  cost, units; 1
-- ARGV[6]  '1': record what is admitted; '0': write nothing at all; 1
-- ARGV[7]  units of the client's earlier identities that count, all older than those in this log; 0
-- Returns  'admitted used oldest newest blocking': 1 or 0, the units in this log that count, in hex, and
--          three times in microseconds; blocking 0 where it is not in this log; see core::log::Facts
-- Arithmetic reads a number in a string by itself, in less time than tonumber(). One string is
-- returned sooner than five numbers, and a number written sooner in hex than in decimal. Microseconds
-- come from ARGV or the list: tostring() would round them. A function is made only where it is needed:
-- making one takes longer than a command.

local call, key, arg = redis.call, KEYS[1], ARGV
local total, stale = call('LLEN', key), 0
local oldest, newest, blocking, count_until = '0', '0', '0', nil
if total > 0 then
  oldest, newest = call('LINDEX', key, '0'), call('LINDEX', key, '-1')
end
local ahead = newest - arg[1] > 0

-- Something has left the window, or another host's clock is ahead of the caller's.
if total > 0 and (ahead or oldest - arg[2] <= 0) then
  -- How many of the entries are not later than `bound`. Usually only the first few are, so the
  -- search widens from the head before it halves.
  count_until = function(bound)
    local low, high = 0, 1
    while high <= total and call('LINDEX', key, high - 1) - bound <= 0 do
      low, high = high, high * 2
    end
    high = math.min(high, total + 1)
    while high - low > 1 do
      local middle = math.floor((low + high) / 2)
      if call('LINDEX', key, middle - 1) - bound <= 0 then
        low = middle
      else
        high = middle
      end
    end
    return low
  end
  stale = count_until(arg[2])
  oldest = stale < total and call('LINDEX', key, stale) or '0'
end

local used, cost, limit = total - stale, arg[5] or 1, arg[3] + 0
local wanted = used + cost
local admitted = wanted + (arg[7] or 0) <= limit
if wanted > limit and limit - cost >= 0 then
  blocking = call('LINDEX', key, stale + wanted - limit - 1)
end

if arg[6] ~= '0' then
  if admitted then
    -- Hosts' clocks differ: an entry that others have overtaken goes before the first that is later.
    local later = ahead and call('LINDEX', key, count_until(arg[1]))
    for _ = 1, cost do
      if later then
        call('LINSERT', key, 'BEFORE', later, arg[1])
      else
        call('RPUSH', key, arg[1])
      end
    end
    if stale > 0 then
      -- A caller whose clock is ahead must not delete what still counts for others, so the server's
      -- clock has a say. Where it may not be asked, a second window stands in for it.
      local time = redis.pcall('TIME')
      local server = time.err and arg[2] + 0 or time[1] * 1000000 + time[2]
      local gone = server < arg[1] + 0 and count_until(server - (arg[1] - arg[2])) or stale
      call('LTRIM', key, gone, '-1')
    end
    call('PEXPIRE', key, arg[4])
  elseif total > 0 and call('PTTL', key) == -1 then
    call('PEXPIRE', key, arg[4])
  end
end
return (admitted and '1 0x' or '0 0x') .. bit.tohex(used) .. ' ' .. oldest .. ' '
  .. (used > 0 and newest or '0') .. ' ' .. blocking
