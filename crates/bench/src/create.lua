-- Requests that differ as real ones do, made once so that sending them costs wrk nothing.
local tags = {
  '"launch","spring"', '"video","team","press"', '"evergreen","weekly"',
  '"question","community","event"', '"product","launch","video"',
}
local requests, last = {}, 0

init = function()
  wrk.headers["content-type"] = "application/json"
  for number = 1, 60 do
    local body = string.format(
      '{"content":"Post %d: doors open at nine, coffee is on us.","tags":[%s]}',
      number, tags[number % #tags + 1])
    requests[number] = wrk.format("POST", nil, nil, body)
  end
end

request = function()
  last = last % #requests + 1
  return requests[last]
end
