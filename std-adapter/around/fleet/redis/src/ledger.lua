-- What atomic_breaker_fleet::Ledger does, as one script, on the server's clock.
-- KEYS: the records of the fleet, the votes for this breaker, when each of these voters tripped, the living
-- instances.
-- ARGV: which instance asks, the name of the breaker, the channel, a random number, what is asked, and the rest of the
-- request.
--
-- Among the records, which have names, the field without a name says which change was the last: its number, and the
-- random number of the request that made it, so that two servers that both go on from the same change can be distinguished.
local KEEP = 600000
-- A year: an epoch further ahead of the clock was forged.
local LEAD = 31536000000
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local from, name, channel, random, what = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- Doubles are exact up to 2^53; marks are text.
local function text(number)
  return string.format('%.0f', number)
end

-- The grammar of what is kept is that of the instances, in text.rs: a record that they cannot read would spread no
-- further, so here it counts as absent, too.
local LAST, LAST_MS, LAST_TRIPS = 2 ^ 53 - 1, 2 ^ 32 - 1, 255
local RECORD = '^(%d+):(%x+):([01]):(%d+):(%d+):(%d+):([%x-]+):(%d+):(%d+):([%x-]+):(%d+):(%d+)$'

local function number(digits, last)
  local value = digits and #digits <= 16 and tonumber(digits)
  return value and value <= last and value
end

local function is_hex(digits, count)
  return #digits == count and not string.find(digits, '[^0-9a-f]')
end

local function is_instance(id)
  return id == '-' or is_hex(id, 32)
end

local function parse(packed)
  local epoch, mark, open, ends, open_ms, trips, holder, lease_until, lease_ms, doubt_of, doubt_ms, expires =
    string.match(packed, RECORD)
  if not epoch or not is_hex(mark, 16) or not is_instance(holder) or not is_instance(doubt_of) then
    return
  end
  local record = {
    epoch = number(epoch, LAST), mark = mark, open = open == '1', ends = number(ends, LAST),
    open_ms = number(open_ms, LAST_MS), trips = number(trips, LAST_TRIPS), holder = holder,
    lease_until = number(lease_until, LAST), lease_ms = number(lease_ms, LAST_MS), doubt_of = doubt_of,
    doubt_ms = number(doubt_ms, LAST_MS), expires = number(expires, LAST), packed = packed,
  }
  if record.epoch and record.ends and record.open_ms and record.trips and record.lease_until
    and record.lease_ms and record.doubt_ms and record.expires
    and record.epoch <= now + LEAD and now < record.expires then
    return record
  end
end

-- The last change and its number; without a valid one, none.
local function last_change()
  local change = redis.call('HGET', KEYS[1], '') or ''
  local digits, mark = string.match(change, '^(%d+):(%x+)$')
  local count = number(digits, LAST)
  if count and is_hex(mark, 16) then
    return change, count
  end
  return '', 0
end

local function load()
  local packed = redis.call('HGET', KEYS[1], name)
  return packed and parse(packed)
end

-- Looks at a few of the other records, so that expired ones do not accumulate.
local function sweep()
  local found = redis.pcall('HRANDFIELD', KEYS[1], 5, 'WITHVALUES')
  if found.err then
    -- Redis 6.0, where a scan may start from any number.
    local place = tonumber(string.sub(random, 1, 8), 16)
    found = redis.call('HSCAN', KEYS[1], text(place), 'COUNT', 10)[2]
  end
  for i = 1, math.min(#found, 20), 2 do
    if found[i] ~= '' and found[i] ~= name and not parse(found[i + 1]) then
      redis.call('HDEL', KEYS[1], found[i])
    end
  end
end

-- Stores a change, and publishes it with the change before it: a listener notices if it has missed one.
local function save(r)
  r.packed = table.concat({
    text(r.epoch), r.mark, r.open and '1' or '0', text(r.ends), text(r.open_ms), text(r.trips),
    r.holder, text(r.lease_until), text(r.lease_ms), r.doubt_of, text(r.doubt_ms), text(r.expires),
  }, ':')
  local before, count = last_change()
  local change = text(count + 1) .. ':' .. random
  redis.call('HSET', KEYS[1], '', change, name, r.packed)
  local left = r.expires - now
  if redis.call('PTTL', KEYS[1]) < left then
    redis.call('PEXPIRE', KEYS[1], text(left))
  end
  sweep()
  redis.call('PUBLISH', channel, table.concat({ before, change, text(now), r.packed, name }, '|'))
end

-- A lease with more time left than it was granted for has lapsed: the clock was set back.
local function lease_left(r)
  local left = r.lease_until - now
  return left >= 1 and left <= r.lease_ms and left or 0
end

local function next_epoch(r, known)
  return math.max(r and r.epoch or 0, known, now) + 1
end

-- `left` until the next probe, of `open_ms` in all; `doubt_of` has found it down, and no other instance has confirmed
-- it.
local function begin(epoch, mark, open, left, open_ms, trips, doubt_of, doubt_ms)
  redis.call('DEL', KEYS[2], KEYS[3])
  local ends = now + left
  local r = {
    epoch = epoch, mark = mark, open = open, ends = ends, open_ms = open_ms, trips = trips,
    holder = '-', lease_until = 0, lease_ms = 0, doubt_of = doubt_of or '-', doubt_ms = doubt_ms or 0,
    expires = ends + KEEP,
  }
  save(r)
  return r
end

local function runs(r, epoch, mark)
  return r and r.open and r.mark == mark and r.epoch == epoch
end

local function held_by_another(r)
  return r.holder ~= from and lease_left(r) > 0
end

-- Votes for trips between these times no longer count.
local function drop_votes(from_time, to_time)
  for _, voter in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], from_time, to_time)) do
    redis.call('ZREM', KEYS[3], voter)
    redis.call('HDEL', KEYS[2], voter)
  end
end

-- The open times of the voters, the longest first, and the highest epoch that they know. A vote that cannot
-- be read counts as 1 ms, and no epoch.
local function ballots()
  local opens, known = {}, 0
  for _, voter in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
    local open, other = string.match(redis.call('HGET', KEYS[2], voter) or '', '^(%d+):(%d+)$')
    opens[#opens + 1] = number(open, LAST_MS) or 1
    other = number(other, LAST) or 0
    if other <= now + LEAD then
      known = math.max(known, other)
    end
  end
  table.sort(opens, function(a, b) return a > b end)
  return opens, known
end

-- A reader has to look at the records only if it has missed a change.
if what == 'read' then
  local every = tonumber(ARGV[6])
  redis.call('ZADD', KEYS[4], text(now + 3 * every), from)
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', text(now))
  if redis.call('PTTL', KEYS[4]) < 3 * every then
    redis.call('PEXPIRE', KEYS[4], text(3 * every))
  end
  return { redis.call('ZCARD', KEYS[4]), text(now), (last_change()) }
end

local r = load()
local done, votes = false, 0

if what == 'vote' and not (r and r.open) then
  local quorum, window, age = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
  local tripped = now - age
  -- Votes for trips later than now lapse: the clock was set back.
  drop_votes('-inf', text(now - window))
  drop_votes('(' .. text(now), '+inf')
  if age < window and tripped >= tonumber(redis.call('ZSCORE', KEYS[3], from) or tripped) then
    redis.call('ZADD', KEYS[3], text(tripped), from)
    redis.call('HSET', KEYS[2], from, text(math.max(tonumber(ARGV[9]), 1)) .. ':' .. ARGV[10])
    redis.call('PEXPIRE', KEYS[2], text(window))
    redis.call('PEXPIRE', KEYS[3], text(window))
  end
  votes = redis.call('ZCARD', KEYS[3])
  if votes >= quorum then
    local opens, known = ballots()
    local open_ms = opens[math.max(quorum, 1)] or 1
    r = begin(next_epoch(r, known), random, true, open_ms, open_ms, 1)
    done, votes = true, 0
  end
elseif what == 'bid' and runs(r, tonumber(ARGV[6]), ARGV[7]) and not held_by_another(r) then
  r.holder, r.lease_ms = from, tonumber(ARGV[8])
  r.lease_until = now + r.lease_ms
  r.expires = math.max(r.expires, now + KEEP)
  save(r)
  done = true
elseif what == 'verdict' and runs(r, tonumber(ARGV[6]), ARGV[7]) then
  local epoch, open_ms, pause = next_epoch(r, 0), tonumber(ARGV[8]), tonumber(ARGV[9])
  if open_ms == 0 then
    -- A success counts even if the right to probe has lapsed.
    r = begin(epoch, r.mark, false, 0, 0, 0)
    done = true
  elseif not held_by_another(r) then
    if r.doubt_of == from then
      r.holder, r.lease_until, r.lease_ms = '-', 0, 0
      save(r)
    elseif r.doubt_of ~= '-' then
      local both = math.max(math.min(open_ms, r.doubt_ms), 1)
      r = begin(epoch, random, true, both, both, math.min(r.trips + 1, 255))
    else
      r = begin(epoch, random, true, math.min(pause, r.open_ms), r.open_ms, r.trips, from, open_ms)
    end
    done = true
  end
end

if what == 'vote' and r and r.open then
  done = true
end
return { done and 1 or 0, votes, text(now), r and r.packed or '' }
