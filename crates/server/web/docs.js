// Renders /openapi.json as a readable reference. Every node is built with the DOM API and every text
// of the document goes in as text, so nothing in it can become markup.

const SPEC_URL = '/openapi.json';
const MADE = 'from the schema'; // name of an example that the document does not give
const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options'];
const AUTH = {
  none: 'No authentication',
  'external-api-key': 'API key',
  'external-api-key-or-session': 'API key or browser session',
  session: 'Browser session only',
};

const $ = (id) => document.getElementById(id);
let doc;
let baseUrl;

// ---------------------------------------------------------------- DOM helpers

function h(tag, attrs, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs ?? {})) {
    if (value == null || value === false) continue;
    if (typeof value === 'function') el.addEventListener(name, value);
    else el.setAttribute(name, value === true ? '' : value);
  }
  el.append(...children.flat(Infinity).filter((c) => c != null && c !== false && c !== ''));
  return el;
}

const code = (text) => h('code', null, String(text));
const joined = (nodes, separator) => nodes.flatMap((node, i) => (i ? [separator, node] : [node]));
const statusNode = (status) => h('span', { class: `status s${status[0]}` }, status);
const badge = (method) => h('span', { class: `method ${method}` }, method.toUpperCase());

/** A path that may break after each slash, with its parameters marked. */
function pathNode(path) {
  const parts = path.split(/(?<=\/)|(\{[^}]+\})/).filter(Boolean);
  return h('code', { class: 'path' }, parts.map((part) => [part.startsWith('{') ? h('var', null, part) : part, h('wbr')]));
}

/** A details element whose content is built when it is first opened. */
function lazyDetails(attrs, summary, build) {
  const el = h('details', attrs, h('summary', null, summary));
  const fill = () => {
    if (el.open && el.childElementCount === 1) el.append(...[build()].flat());
  };
  el.addEventListener('toggle', fill);
  fill();
  return el;
}

/** rows: [attributes, ...cells]. The roles stay when a narrow screen turns rows into blocks. */
function table(heads, rows) {
  return h('table', { role: 'table' },
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, heads.map((text) => h('th', { role: 'columnheader', scope: 'col' }, text)))),
    h('tbody', { role: 'rowgroup' }, rows.map(([attrs, ...cells]) =>
      h('tr', { role: 'row', ...attrs }, cells.map((content) => h('td', { role: 'cell' }, content))))));
}

/** The part of Markdown that API descriptions use: paragraphs, lists, fences, code, bold, emphasis, links. */
function prose(text) {
  if (!text) return [];
  const blocks = String(text).replace(/\r/g, '').split(/(```[\s\S]*?(?:```|$))|\n\s*\n/).filter((b) => b?.trim());
  return blocks.flatMap((block) => {
    if (block.startsWith('```')) return h('pre', null, code(block.replace(/^```.*\n?|\n?```$/g, '')));
    const out = [];
    for (const line of block.trim().split('\n')) {
      const item = line.match(/^\s*(?:[-*]|\d+[.)])\s+(.*)/);
      const last = out.at(-1);
      const kind = item ? (/^\s*\d/.test(line) ? 'ol' : 'ul') : 'p';
      if (item && last?.kind === kind) last.lines.push(item[1]);
      else if (item) out.push({ kind, lines: [item[1]] });
      else if (last) last.lines.push(`${last.lines.pop()} ${line.trim()}`);
      else out.push({ kind, lines: [line.replace(/^#+\s*/, '')] });
    }
    return out.map(({ kind, lines }) =>
      kind === 'p' ? h('p', null, inline(lines[0])) : h(kind, null, lines.map((l) => h('li', null, inline(l)))));
  });
}

function inline(text) {
  const pattern = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])/g;
  const out = [];
  let end = 0;
  for (const m of String(text).matchAll(pattern)) {
    out.push(text.slice(end, m.index));
    end = m.index + m[0].length;
    if (m[1]) out.push(code(m[1]));
    else if (m[2]) out.push(h('strong', null, inline(m[2])));
    else if (m[5]) out.push(h('em', null, m[5]));
    else out.push(/^(https?:\/\/|#|\/(?!\/))/.test(m[4]) ? h('a', { href: m[4] }, inline(m[3])) : m[3]);
  }
  return [...out, text.slice(end)];
}

// ---------------------------------------------------------------- schemas

function lookup(ref) {
  if (!ref.startsWith('#/')) return undefined;
  const keys = ref.slice(2).split('/').map((k) => decodeURIComponent(k).replaceAll('~1', '/').replaceAll('~0', '~'));
  return keys.reduce((node, key) => node?.[key], doc);
}

/** Follows $ref; keywords beside it win, as OpenAPI 3.1 has it. `$name` keeps the component's name. */
function deref(node, seen = new Set()) {
  let out = node && typeof node === 'object' ? node : {};
  while (out.$ref) {
    const { $ref, ...rest } = out;
    out = { $name: $ref.split('/').at(-1), ...(seen.has($ref) ? {} : lookup($ref)), ...rest };
    seen.add($ref);
  }
  return out;
}

/** One flat shape for a schema: references followed, allOf merged, null and one-way unions folded away. */
function view(schema, seen = new Set()) {
  let s = deref(schema, seen);
  if (s.allOf) {
    const { allOf, ...own } = s;
    const parts = allOf.map((part) => view(part, new Set(seen)));
    s = [...parts, own].reduce((a, b) => ({
      ...a, ...b,
      properties: { ...a.properties, ...b.properties },
      required: [...(a.required ?? []), ...(b.required ?? [])],
    }), {});
    if (parts.length > 1) s.$name = own.$name;
  }
  const types = [s.type ?? []].flat();
  s = { ...s, types: types.filter((t) => t !== 'null'), nullable: s.nullable || types.includes('null') };

  const union = s.oneOf ?? s.anyOf;
  if (!union) return s;
  const { oneOf, anyOf, ...own } = s;
  const options = union.map((o) => view(o, new Set(seen)));
  const real = options.filter((o) => o.types.length || !o.nullable);
  const nullable = own.nullable || options.some((o) => o.nullable);
  if (!real.length) return { ...own, nullable };
  if (real.every((o) => o.required && !o.properties && !o.types.length)) return { ...own, choices: real.map((o) => o.required) };
  if (real.every((o) => o.const !== undefined)) return { ...own, nullable, types: real[0]?.types ?? [], values: real.map((o) => [o.const, o.description]) };
  if (real.length !== 1) return { ...own, nullable, options: real };
  const kept = Object.fromEntries(Object.entries(own).filter(([k, v]) => v !== undefined && k !== 'types'));
  return { ...real[0], ...kept, $name: real[0].$name, nullable };
}

const isMap = (v) => v.additionalProperties && typeof v.additionalProperties === 'object' && !Object.keys(v.properties ?? {}).length;

function typeName(v, depth = 0) {
  if (v.const !== undefined) return JSON.stringify(v.const);
  if (v.options && v.$name && depth) return v.$name;
  if (v.options) return [...new Set(v.options.map((o) => typeName(o, depth + 1)))].join(' or ');
  if (depth < 4 && v.items) return `array of ${typeName(view(v.items), depth + 1)}`;
  if (depth < 4 && isMap(v)) return `map of ${typeName(view(v.additionalProperties), depth + 1)}`;
  if (v.properties) return v.$name ?? v.title ?? 'object';
  const base = v.types.join(' or ') || (v.enum ? typeof v.enum[0] : 'any');
  return v.format && v.format !== base ? `${base} (${v.format})` : base;
}

function span(low, high, unit = '') {
  const count = (n) => `${n} ${n === 1 ? unit.replace(/s$/, '') : unit}`.trim();
  if (low == null) return high == null ? null : `at most ${count(high)}`;
  if (high == null) return `at least ${count(low)}`;
  return low === high ? `exactly ${count(low)}` : `${low} to ${count(high)}`;
}

/** The rules of a schema as short phrases, each an array of nodes. */
function rules(v, depth = 0) {
  const list = [
    span(v.minimum, v.maximum),
    v.exclusiveMinimum != null && `more than ${v.exclusiveMinimum}`,
    v.exclusiveMaximum != null && `less than ${v.exclusiveMaximum}`,
    v.multipleOf != null && `multiple of ${v.multipleOf}`,
    span(v.minLength || null, v.maxLength, 'characters'),
    span(v.minItems || null, v.maxItems, 'items'),
    v.uniqueItems && 'no duplicates',
    v.pattern && ['matches ', code(v.pattern)],
    v.default !== undefined && ['default ', code(JSON.stringify(v.default))],
    v.choices && ['give ', joined(v.choices.map((set) => joined(set.map(code), ' and ')), ', or ')],
    v.readOnly && 'read-only',
    v.writeOnly && 'write-only',
  ].filter(Boolean);
  if (v.items && depth < 3) list.push(...rules(view(v.items), depth + 1).map((rule) => ['each ', rule]));
  return list;
}

function enumNode(v) {
  const item = v.items ? view(v.items) : v;
  const values = item.values ?? item.enum?.filter((e) => e !== null).map((e) => [e]);
  if (!values) return null;
  return values.some(([, about]) => about)
    ? h('ul', { class: 'values' }, values.map(([value, about]) => h('li', null, code(show(value)), about && [' ', inline(about)])))
    : h('p', { class: 'values' }, v.items ? 'Each one of ' : 'One of ', joined(values.map(([value]) => code(show(value))), ' '));
}

function facts(v) {
  const list = rules(v);
  return [
    v.deprecated && h('span', { class: 'warn' }, 'deprecated'),
    list.length > 0 && h('span', { class: 'rules' }, joined(list, ' · ')),
  ];
}

/** The schema that holds a value's fields: the value itself, its array items or its map values. */
function inner(v) {
  for (let i = 0; i < 4 && !v.properties && !v.options; i++) {
    if (v.items) v = view(v.items);
    else if (isMap(v)) v = view(v.additionalProperties);
  }
  return v;
}

/** Nested field list. `trail` holds the names above, so that a schema within itself ends with a note. */
function fields(schema, trail = []) {
  const v = inner(schema);
  if (v.$name && trail.includes(v.$name)) return [h('p', { class: 'quiet' }, `Same fields as ${v.$name} above.`)];
  const below = v.$name ? [...trail, v.$name] : trail;
  const variants = (v.options ?? []).map((option, i) => h('div', { class: 'option' },
    h('p', { class: 'option-name' }, i ? 'or ' : 'either ', h('span', { class: 'type' }, option.title ?? typeName(option)), ' ', facts(option)),
    prose(option.description), enumNode(option), hasFields(option) && fields(option, below)));
  const entries = Object.entries(v.properties ?? {});
  if (!entries.length) return variants;
  return [h('ul', { class: 'fields' }, entries.map(([name, raw]) => {
    const field = view(raw);
    const count = Object.keys(inner(field).properties ?? {}).length;
    return h('li', null,
      h('p', { class: 'field' }, h('code', { class: 'name' }, name), ' ',
        h('span', { class: 'type' }, typeName(field), field.nullable && ' or null'), ' ',
        v.required?.includes(name) && h('span', { class: 'required' }, 'required'), ' ', facts(field)),
      prose(field.description), enumNode(field),
      hasFields(field) && lazyDetails({ class: 'nested', open: entries.length <= 2 && trail.length < 3 },
        count ? `${count} field${count === 1 ? '' : 's'}` : 'Variants', () => fields(field, below)));
  })), ...variants];
}

function hasFields(schema, depth = 0) {
  const v = inner(schema);
  return Object.keys(v.properties ?? {}).length > 0
    || (depth < 4 && Boolean(v.options?.some((o) => o.const !== undefined || o.enum || hasFields(o, depth + 1))));
}

function schemaBlock(raw) {
  if (!raw) return [];
  const v = view(raw);
  const plain = !v.properties || v.nullable;
  return [
    (plain || rules(v).length > 0) && h('p', { class: 'field' }, plain && h('span', { class: 'type' }, typeName(v), v.nullable && ' or null'), ' ', facts(v)),
    enumNode(v), fields(v),
  ].flat().filter(Boolean);
}

// ---------------------------------------------------------------- examples

const given = (v) => [v.example, v.examples?.[0], v.default, v.const, v.values?.[0]?.[0], v.enum?.[0]].find((e) => e !== undefined);

/** A value that fits the schema, for where the document gives no example. */
function sample(raw, depth = 0) {
  const v = view(raw);
  if (given(v) !== undefined) return given(v);
  if (v.options) return sample(v.options[0], depth + 1);
  if (v.properties) {
    const names = Object.keys(v.properties).filter((n) => depth < 1 || v.required?.includes(n));
    return depth > 4 ? {} : Object.fromEntries(names.map((n) => [n, sample(v.properties[n], depth + 1)]));
  }
  if (v.items) return depth > 3 ? [] : [sample(v.items, depth + 1)];
  if (v.nullable) return null;
  const type = v.types[0];
  if (type === 'integer' || type === 'number') return v.minimum ?? 0;
  if (type === 'boolean') return false;
  if (type === 'string') return v.format === 'date-time' ? '2026-01-31T09:30:00.000Z' : '…';
  return {};
}

/** The examples of one media type as [{ name, value }]; a made-up one if only a schema is there. */
function examples(media) {
  if (!media) return [];
  if (media.example !== undefined) return [{ name: 'Example', value: media.example }];
  const named = Object.entries(media.examples ?? {}).map(([key, raw]) => {
    const e = deref(raw);
    return { name: e.summary ?? key, value: e.value };
  }).filter((e) => e.value !== undefined);
  if (named.length) return named;
  return media.schema ? [{ name: MADE, value: sample(media.schema) }] : [];
}

const show = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
const quote = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

function paramExample(p) {
  return p.example ?? deref(Object.values(p.examples ?? {})[0]).value ?? given(view(p.schema)) ?? `<${p.name}>`;
}

function curl(op, type, example) {
  const value = (p) => encodeURIComponent(paramExample(p)).replace(/^%3C(.*)%3E$/, '<$1>');
  const needed = op.parameters.filter((p) => p.required);
  const path = op.path.replace(/\{([^}]+)\}/g, (all, name) => value(needed.find((p) => p.in === 'path' && p.name === name) ?? { name }));
  const query = needed.filter((p) => p.in === 'query').map((p) => `${encodeURIComponent(p.name)}=${value(p)}`).join('&');
  const url = quote(baseUrl + path + (query && `?${query}`));
  const lines = [`curl ${op.method === 'get' ? '' : `-X ${op.method.toUpperCase()} `}${url}`];
  if (op.auth !== 'none') lines.push(`-H "Authorization: Bearer $${op.auth === 'session' ? 'CAMPANILE_SESSION' : 'CAMPANILE_KEY'}"`);
  for (const p of needed.filter((q) => q.in === 'header')) lines.push(`-H ${quote(`${p.name}: ${paramExample(p)}`)}`);
  if (type?.startsWith('multipart/')) {
    for (const [k, v] of Object.entries(example?.value ?? {})) lines.push(`-F ${quote(`${k}=${show(v)}`)}`);
  } else if (type) {
    lines.push(`-H ${quote(`Content-Type: ${type}`)}`);
    const flat = type.includes('json') ? JSON.stringify(example?.value) : show(example?.value);
    if (!example || !/json|text|xml/.test(type)) lines.push('--data-binary @FILE');
    else lines.push(`--data-raw ${quote(flat.length < 60 ? flat : show(example.value))}`);
  }
  return lines.join(' \\\n  ');
}

function highlight(text) {
  const out = [];
  let end = 0;
  for (const m of text.matchAll(/("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*/g)) {
    out.push(text.slice(end, m.index), h('span', { class: m[2] ? 'k' : m[1] ? 's' : 'n' }, m[1] ?? m[0]), m[2]);
    end = m.index + m[0].length;
  }
  return [...out, text.slice(end)];
}

async function copy(text, button) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // plain http has no clipboard API
    const area = h('textarea', { class: 'hush', readonly: true, 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand('copy');
    area.remove();
    button.focus();
  }
  button.textContent = done ? 'Copied' : 'Failed';
  $('page-live').textContent = done ? 'Copied to the clipboard' : 'Copying failed';
  setTimeout(() => { button.textContent = 'Copy'; $('page-live').textContent = ''; }, 1600);
}

/** A code panel. views: [{ label, items: [{ name, text, json }] }] */
function panel(title, views) {
  let current = views[0];
  let item;
  const body = code('');
  const pre = h('pre', { tabindex: 0, role: 'group' }, body);
  const hint = h('span', { class: 'quiet' }, MADE);
  const tabs = views.map((v) => h('button', { type: 'button', click: () => open(v) }, v.label));
  const select = h('select', { 'aria-label': `${title}: which example`, change: () => draw(select.selectedIndex) });
  const draw = (index) => {
    item = current.items[index] ?? current.items[0];
    body.replaceChildren(...(item.json ? highlight(item.text) : [item.text]).filter(Boolean));
    hint.hidden = item.name !== MADE;
    pre.setAttribute('aria-label', `${title}, ${current.label}`);
  };
  const open = (v) => {
    const kept = Math.max(0, select.selectedIndex);
    current = v;
    tabs.forEach((tab, i) => tab.setAttribute('aria-pressed', views[i] === v));
    select.replaceChildren(...v.items.map((e) => h('option', null, e.name)));
    select.selectedIndex = Math.min(kept, v.items.length - 1);
    select.hidden = v.items.length < 2;
    draw(select.selectedIndex);
  };
  open(current);
  const button = h('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${title.toLowerCase()}`, click: () => copy(item.text, button) }, 'Copy');
  return h('div', { class: 'panel', role: 'group', 'aria-label': title },
    h('div', { class: 'panel-head' }, h('span', { class: 'panel-title' }, title), h('div', { class: 'tabs' }, tabs), select, hint, button), pre);
}

// ---------------------------------------------------------------- operations

/** Every operation, flat, in the order of the document, with what the page needs worked out. */
function collect() {
  const ids = new Set();
  return Object.entries(doc.paths).flatMap(([path, rawItem]) => {
    const item = deref(rawItem);
    return METHODS.filter((m) => item[m]).map((method) => {
      const raw = item[method];
      const parameters = new Map([...(item.parameters ?? []), ...(raw.parameters ?? [])].map((p) => deref(p)).map((p) => [`${p.in} ${p.name}`, p]));
      let id = raw.operationId ?? `${method}${path.replace(/[^A-Za-z0-9]+/g, '-')}`;
      while (ids.has(id)) id += '-';
      ids.add(id);
      return {
        raw, method, path, id,
        tag: raw.tags?.[0] ?? 'other',
        title: raw.summary ?? `${method.toUpperCase()} ${path}`,
        parameters: [...parameters.values()],
        auth: raw['x-auth'] ?? ((raw.security ?? doc.security)?.length === 0 ? 'none' : undefined),
        scopes: raw['x-scope-alternatives']?.length ? raw['x-scope-alternatives'] : raw['x-required-scopes']?.length ? [raw['x-required-scopes']] : [],
        later: raw['x-availability'] === 'later',
      };
    });
  });
}

const scopeNode = (name) => h('a', { class: 'scope', href: `#scope-${name}` }, name);

function access(op) {
  const scopes = joined(op.scopes.map((set) => joined(set.map(scopeNode), ' and ')), ' or ');
  const parts = [AUTH[op.auth] ?? op.auth, scopes.length ? ['scope ', scopes] : op.auth?.startsWith('external') && 'no scope needed'].filter(Boolean);
  return parts.length ? h('p', { class: 'access' }, joined(parts, ' · ')) : null;
}

function availability(op) {
  const value = op.raw['x-availability'];
  return [
    op.later && h('p', { class: 'note' }, 'Not available yet: answers 501 until it arrives.'),
    value && !op.later && !/^(now|available)$/.test(value) && h('p', { class: 'note' }, `Availability: ${value}`),
    op.raw.deprecated && h('p', { class: 'note' }, 'Deprecated: new clients should not call it.'),
  ];
}

function parameterTable(list) {
  if (!list.length) return null;
  return [h('h4', null, 'Parameters'), table(['Name', 'In', 'Type', 'Description'], list.map((p) => {
    const v = view(p.schema ?? Object.values(p.content ?? {})[0]?.schema);
    return [{},
      [h('code', { class: 'name' }, p.name), ' ', h('span', { class: p.required ? 'required' : 'quiet' }, p.required ? 'required' : 'optional')],
      h('span', { class: 'quiet' }, p.in),
      h('span', { class: 'type' }, typeName(v), v.nullable && ' or null'),
      [prose(p.description ?? v.description), enumNode(v), h('p', { class: 'field' }, facts({ ...v, deprecated: p.deprecated ?? v.deprecated }))]];
  }))];
}

function requestBody(body, type) {
  if (!body) return null;
  return [h('h4', null, 'Request body ', h('span', { class: 'quiet' }, Object.keys(body.content ?? {}).join(', '), body.required ? '' : ', optional')),
    prose(body.description), schemaBlock(body.content?.[type]?.schema)];
}

function responseList(responses) {
  if (!responses.length) return null;
  return [h('h4', null, 'Responses'), h('ul', { class: 'responses' }, responses.map(({ status, response, type, media }) => {
    const line = [statusNode(status), ' ', h('span', { class: 'about' }, inline(response.description ?? ''))];
    const headers = Object.entries(response.headers ?? {});
    if (!media?.schema && !headers.length) return h('li', null, h('p', { class: 'line' }, line));
    return h('li', null, lazyDetails({}, line, () => [
      headers.length > 0 && h('ul', { class: 'fields' }, headers.map(([name, raw]) => {
        const header = deref(raw);
        return h('li', null, h('p', { class: 'field' }, code(name), ' ', h('span', { class: 'type' }, 'header')), prose(header.description));
      })),
      type && h('p', { class: 'quiet' }, type), ...schemaBlock(media?.schema),
    ].filter(Boolean)));
  }))];
}

function operation(op) {
  const body = op.raw.requestBody && deref(op.raw.requestBody);
  const first = (content) => Object.keys(content ?? {}).find((t) => t.includes('json')) ?? Object.keys(content ?? {})[0];
  const type = first(body?.content);
  const bodies = examples(body?.content?.[type]);
  const responses = Object.entries(op.raw.responses ?? {}).map(([status, raw]) => {
    const response = deref(raw);
    const media = first(response.content);
    return { status, response, type: media, media: response.content?.[media] };
  });
  const request = [{ label: 'curl', items: (bodies.length ? bodies : [undefined]).map((e) => ({ name: e?.name, text: curl(op, type, e) })) }];
  if (bodies.length) request.push({ label: 'Body', items: bodies.map((e) => ({ name: e.name, text: show(e.value), json: type.includes('json') })) });
  const answers = responses.map((r) => ({
    label: r.status,
    items: examples(r.media).map((e) => ({ name: e.name, text: show(e.value), json: typeof e.value !== 'string' })),
  })).filter((v) => v.items.length);

  return h('article', { id: op.id, class: 'op', 'aria-labelledby': `title-${op.id}`, tabindex: -1 },
    h('div', { class: 'text' },
      h('h3', { id: `title-${op.id}` }, h('a', { class: 'anchor', href: `#${encodeURIComponent(op.id)}` }, inline(op.title))),
      h('p', { class: 'route' }, badge(op.method), ' ', pathNode(op.path)),
      access(op), availability(op), prose(op.raw.description),
      parameterTable(op.parameters), requestBody(body, type), responseList(responses)),
    h('div', { class: 'code' }, panel('Request', request), answers.length > 0 && panel('Response', answers)));
}

/** One operation the page cannot read must not hide the others. */
function safely(op) {
  try {
    return operation(op);
  } catch (error) {
    console.warn(op.id, error);
    return h('article', { id: op.id, class: 'op' }, h('div', { class: 'text' }, h('h3', null, op.title),
      h('p', { class: 'note' }, 'This operation could not be shown; its description is in ', h('a', { href: SPEC_URL }, SPEC_URL), '.')));
  }
}

// ---------------------------------------------------------------- page

function tagTitle(tag) {
  const words = (tag['x-displayName'] ?? tag.summary ?? tag.name.replace(/[-_]/g, ' ')).replace(/\b(ai|api|url)\b/gi, (w) => w.toUpperCase());
  return words[0].toUpperCase() + words.slice(1);
}

function group(ops) {
  const tags = new Map((doc.tags ?? []).map((t) => [t.name, { ...t, ops: [] }]));
  for (const op of ops) {
    if (!tags.has(op.tag)) tags.set(op.tag, { name: op.tag, ops: [] });
    tags.get(op.tag).ops.push(op);
  }
  return [...tags.values()].filter((t) => t.ops.length).map((t) => ({ ...t, id: `tag-${t.name}`, title: tagTitle(t) }));
}

const opLink = (op, ...rest) => h('a', { href: `#${encodeURIComponent(op.id)}`, title: op.title }, badge(op.method), pathNode(op.path), ...rest);

function overview(ops, groups) {
  const { title = 'API', version, description } = doc.info ?? {};
  const schemes = Object.entries(doc.components?.securitySchemes ?? {}).map(([name, raw]) => [name, deref(raw)]);
  const about = (s) => s.type === 'apiKey' ? code(`${s.name}: …`) : s.type === 'http' ? code(`Authorization: ${s.scheme[0].toUpperCase()}${s.scheme.slice(1)} …`) : s.type;
  return h('section', { id: 'overview', class: 'spy', tabindex: -1 },
    h('h1', null, title, ' ', version && h('span', { class: 'version' }, version)),
    h('div', { class: 'lead' }, prose(description)),
    h('dl', { class: 'key' },
      h('dt', null, 'Base URL'), h('dd', null, code(baseUrl || '/')),
      schemes.map(([name, s]) => [h('dt', null, name), h('dd', null, about(s), prose(s.description))]),
      h('dt', null, 'Contents'), h('dd', null, `${ops.length} operations in ${groups.length} groups`),
      h('dt', null, 'Description'), h('dd', null, h('a', { href: SPEC_URL }, SPEC_URL), ` (OpenAPI ${doc.openapi ?? ''})`)));
}

function tagSection(tag) {
  return h('section', { class: 'group' },
    h('div', { id: tag.id, class: 'group-head spy', tabindex: -1 },
      h('div', { class: 'text' }, h('h2', null, h('a', { class: 'anchor', href: `#${tag.id}` }, tag.title)), prose(tag.description)),
      h('ul', { class: 'endpoints', 'aria-label': `${tag.title}: operations` }, tag.ops.map((op) => h('li', null, opLink(op))))),
    tag.ops.map(safely));
}

function tableSection(id, title, heads, rows) {
  return rows.length ? h('section', { id, class: 'spy appendix', tabindex: -1 },
    h('h2', null, h('a', { class: 'anchor', href: `#${id}` }, title)), table(heads, rows)) : null;
}

const errorRows = () => [...(doc['x-error-codes'] ?? [])].sort((a, b) => a.status - b.status).map((e) =>
  [{ id: `error-${e.code}`, tabindex: -1 }, statusNode(String(e.status ?? '')), code(e.code), prose(e.description)]);

const scopeRows = (ops) => (doc['x-scopes'] ?? []).map((s) => {
  const users = ops.filter((op) => op.scopes.flat().includes(s.name));
  return [{ id: `scope-${s.name}`, tabindex: -1 }, code(s.name), [prose(s.description),
    users.length > 0 && lazyDetails({ class: 'nested' }, `${users.length} operation${users.length === 1 ? '' : 's'}`,
      () => h('ul', { class: 'endpoints' }, users.map((op) => h('li', null, opLink(op)))))]];
});

// ---------------------------------------------------------------- navigation

function navigation(groups, extras) {
  const links = new Map(); // section id → { el, box }
  const top = (id, text) => {
    const el = h('a', { class: 'top', href: `#${id}` }, text);
    links.set(id, { el });
    return el;
  };
  const boxes = groups.map((tag) => {
    const summary = h('summary', null, tag.title, h('span', { class: 'n' }, String(tag.ops.length)));
    const box = h('details', { class: 'nav-group' }, summary, h('ul', null, tag.ops.map((op) => {
      const el = opLink(op, op.later && h('span', { class: 'later' }, 'later'));
      links.set(op.id, { el, box: () => box });
      return h('li', { 'data-text': [op.method, op.path, op.title, op.id, tag.title, op.scopes].flat(3).join(' ').toLowerCase() }, el);
    })));
    links.set(tag.id, { el: summary, box: () => box });
    return box;
  });
  $('page-links').replaceChildren(top('overview', 'Overview'), ...boxes, ...extras.map(([id, text]) => top(id, text)));
  return { links, boxes };
}

function filtering({ boxes }, total) {
  const input = $('page-filter');
  let before;
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !before) before = boxes.map((b) => b.open);
    let found = 0;
    boxes.forEach((box, i) => {
      const hits = [...box.querySelectorAll('li')].filter((li) => {
        li.hidden = !words.every((w) => li.dataset.text.includes(w));
        return !li.hidden;
      }).length;
      found += hits;
      box.hidden = !hits;
      if (words.length) box.open = hits > 0;
      else if (before) box.open = before[i];
    });
    if (!words.length) before = undefined;
    $('page-links').classList.toggle('filtered', words.length > 0);
    $('page-count').textContent = words.length ? `${found} of ${total} operations` : '';
  };
  input.addEventListener('input', apply);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { input.value = ''; apply(); }
    if (event.key === 'Enter' && input.value.trim()) $('page-links').querySelector('details:not([hidden]) li:not([hidden]) a')?.click();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && event.target !== input) menu(false);
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select')) return;
    event.preventDefault();
    menu(true);
    input.focus();
  });
}

function menu(open) {
  document.body.classList.toggle('menu', open);
  $('page-menu').setAttribute('aria-expanded', open);
  $('page-menu').textContent = open ? 'Close' : 'Menu';
}

/** Marks the section being read in the navigation, and opens its group there. */
function following({ links }) {
  const seen = new Set();
  let current;
  let opened;
  const mark = (id) => {
    const link = links.get(id);
    if (!link || link === current) return;
    current?.el.removeAttribute('aria-current');
    link.el.setAttribute('aria-current', 'true');
    current = link;
    if ($('page-filter').value) return;
    const box = link.box?.();
    if (opened && opened !== box) opened.open = false;
    opened = box && (!box.open || opened === box) ? box : undefined;
    if (box) box.open = true;
    const nav = $('page-nav');
    const { top, bottom } = link.el.getBoundingClientRect();
    if (top < 130 || bottom > innerHeight - 40) nav.scrollTop += top - innerHeight / 3;
  };
  const sections = [...document.querySelectorAll('.op, .spy')];
  const observer = new IntersectionObserver((entries) => {
    for (const e of entries) e.isIntersecting ? seen.add(e.target) : seen.delete(e.target);
    const first = sections.find((s) => seen.has(s));
    if (first) mark(first.id);
  }, { rootMargin: '-90px 0px -70% 0px' });
  sections.forEach((s) => observer.observe(s));
  return mark;
}

function goTo(mark, scroll) {
  const raw = location.hash.slice(1);
  const target = raw && $(new URLSearchParams(`id=${raw.replaceAll('+', '%2B')}`).get('id')); // never throws on a stray %
  if (!target) return;
  menu(false);
  if (scroll) target.scrollIntoView();
  target.focus({ preventScroll: true });
  mark(target.id);
}

// ---------------------------------------------------------------- start

async function load() {
  const response = await fetch(SPEC_URL, { headers: { accept: 'application/json' }, signal: AbortSignal.timeout(20000) })
    .catch((e) => { throw new Error(e.name === 'TimeoutError' ? 'The server took more than 20 seconds to answer.' : 'The server could not be reached.'); });
  if (!response.ok) throw new Error(`The server answered ${response.status} ${response.statusText}`.trim());
  const json = await response.json().catch(() => { throw new Error('The answer is not valid JSON.'); });
  if (!json?.paths) throw new Error('The answer is not an OpenAPI document: it has no paths.');
  return json;
}

function failed(error) {
  const retry = h('button', { type: 'button', click: () => start() }, 'Try again');
  $('page-main').replaceChildren(h('div', { class: 'notice failed', role: 'alert' },
    h('h1', null, 'The API description could not be shown'),
    h('p', null, error.message), h('p', null, 'It is read from ', h('a', { href: SPEC_URL }, SPEC_URL), ' on this host.'), retry));
}

async function start() {
  const main = $('page-main');
  try {
    doc = await load();
    baseUrl = new URL(doc.servers?.[0]?.url ?? '', location.origin).href.replace(/\/$/, '');
    const ops = collect();
    const groups = group(ops);
    const errors = tableSection('errors', 'Errors', ['Status', 'Code', 'Meaning'], errorRows());
    const scopes = tableSection('scopes', 'Scopes', ['Scope', 'Grants'], scopeRows(ops));
    main.replaceChildren(...[overview(ops, groups), ...groups.map(tagSection), errors, scopes].filter(Boolean));
    const title = doc.info?.title ?? 'API reference';
    document.title = `${title} reference`;
    document.querySelectorAll('.brand').forEach((el) => { el.textContent = title; });
    const nav = navigation(groups, [errors && ['errors', 'Errors'], scopes && ['scopes', 'Scopes']].filter(Boolean));
    filtering(nav, ops.length);
    const mark = following(nav);
    addEventListener('hashchange', () => goTo(mark, false));
    goTo(mark, true);
  } catch (error) {
    console.warn(error);
    failed(error);
  } finally {
    main.removeAttribute('aria-busy');
  }
}

$('page-menu').addEventListener('click', () => menu(!document.body.classList.contains('menu')));
$('page-nav').addEventListener('click', (event) => { if (event.target.closest('a')) menu(false); });
start();
