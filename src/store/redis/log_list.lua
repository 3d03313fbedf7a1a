-- The sliding window log as a list of the times of admitted units, oldest first.
-- KEYS[1]  the log
-- ARGV[1]  now, microseconds since the epoch
-- ARGV[2]  horizon, now - window, microseconds: an entry counts if and only if it is later
-- ARGV[3]  limit, units
-- ARGV[4]  cost, units
-- ARGV[5]  time to live of the key, milliseconds
-- ARGV[6]  '1': record what is admitted; '0': write nothing at all
-- ARGV[7]  units of the client's earlier identities that count, all older than those in this log
-- Returns  {admitted 1 or 0, units in this log that count, oldest, newest, blocking}, the last three
--          as times in microseconds; blocking 0 where it is not in this log; see core::log::Facts
-- Microseconds that are written come from ARGV: tostring() would round them.
-- A function is made only where it is needed: making one takes longer than a command.

local call, key = redis.call, KEYS[1]
local now, horizon = tonumber(ARGV[1]), tonumber(ARGV[2])
local limit, cost = tonumber(ARGV[3]), tonumber(ARGV[4])
local total, stale = call('LLEN', key), 0
local oldest, newest, blocking, count_until = 0, 0, 0, nil
if total > 0 then
  oldest, newest = tonumber(call('LINDEX', key, 0)), tonumber(call('LINDEX', key, -1))
end

-- Something has left the window, or another host's clock is ahead of the caller's.
if total > 0 and (oldest <= horizon or newest > now) then
  -- How many of the entries are not later than `bound`. Usually only the first few are, so the
  -- search widens from the head before it halves.
  count_until = function(bound)
    local low, high = 0, 1
    while high <= total and tonumber(call('LINDEX', key, high - 1)) <= bound do
      low, high = high, high * 2
    end
    high = math.min(high, total + 1)
    while high - low > 1 do
      local middle = math.floor((low + high) / 2)
      if tonumber(call('LINDEX', key, middle - 1)) <= bound then
        low = middle
      else
        high = middle
      end
    end
    return low
  end
  stale = count_until(horizon)
  oldest = stale < total and tonumber(call('LINDEX', key, stale)) or 0
end
local used = total - stale
local admitted = tonumber(ARGV[7]) + used + cost <= limit
if cost <= limit and used + cost > limit then
  blocking = tonumber(call('LINDEX', key, stale + used + cost - limit - 1))
end

if ARGV[6] == '1' and admitted then
  -- Hosts' clocks differ: an entry that others have overtaken goes before the first that is later.
  local later = newest > now and call('LINDEX', key, count_until(now))
  for _ = 1, cost do
    if later then
      call('LINSERT', key, 'BEFORE', later, ARGV[1])
    else
      call('RPUSH', key, ARGV[1])
    end
  end
  if stale > 0 then
    -- A caller whose clock is ahead must not delete what still counts for others, so the server's
    -- clock has a say. Where it may not be asked, a second window stands in for it.
    local time = redis.pcall('TIME')
    local server = time.err and horizon or tonumber(time[1]) * 1000000 + tonumber(time[2])
    local gone = server < now and count_until(server - (now - horizon)) or stale
    call('LTRIM', key, gone, -1)
  end
  call('PEXPIRE', key, ARGV[5])
elseif ARGV[6] == '1' and total > 0 and call('PTTL', key) == -1 then
  call('PEXPIRE', key, ARGV[5])
end
return { admitted and 1 or 0, used, oldest, used > 0 and newest or 0, blocking }
