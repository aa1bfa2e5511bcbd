// The text of config/default.yaml: every setting with its description and its default.
import { stringify } from 'yaml';

// A computed specifier: knip would report one of a file that is not built yet.
const built = (name) => import(new URL(`../test/.modules/src/${name}`, import.meta.url).href);
const { describeField, metadataOf } = await built('schema/fields.js');
const { childrenOf } = await built('schema/walk.js');
const { configSchema } = await built('config/settings/schema.js');

/** Providers and models that config/default.yaml shows, commented out. */
const EXAMPLES = {
  providers: {
    openai: {
      kind: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      apiKey: `\${OPENAI_API_KEY}`,
      apiKeys: [`\${OPENAI_API_KEY_2}`],
      shared: true,
      concurrency: 8,
      headers: { 'openai-project': 'proj_1' },
      query: { trace: 'oriel' },
      proxy: 'http://proxy.example:3128',
      timeouts: { connect: '5s', firstByte: '120s', idle: '120s', total: '10m' },
    },
    anthropic: {
      kind: 'anthropic',
      baseUrl: 'https://api.anthropic.com/v1',
      apiKey: `\${ANTHROPIC_API_KEY}`,
    },
    gemini: { kind: 'gemini', apiKey: `\${GEMINI_API_KEY}` },
    other: { kind: 'oriel', baseUrl: 'https://gateway.example/v1', apiKey: `\${OTHER_KEY}` },
    azure: {
      kind: 'azure',
      baseUrl: 'https://name.openai.azure.com',
      apiKey: `\${AZURE_OPENAI_API_KEY}`,
      apiVersion: '2024-10-21',
    },
    bedrock: { kind: 'bedrock', region: 'eu-central-1', profile: 'oriel' },
    vertex: { kind: 'vertex', project: 'my-project', keyFile: '/etc/oriel/vertex.json' },
    sandbox: { kind: 'sandbox' },
  },
  models: {
    'some-text-model': {
      type: 'text',
      aliases: ['some-other-name'],
      name: 'Some Text Model',
      description: 'Answers questions.',
      created: '2026-01-31',
      ownedBy: 'oriel',
      routes: [
        { provider: 'openai', model: 'upstream-name', dialect: 'responses', priority: 2 },
        { provider: 'anthropic', model: 'other-name', promptCaching: 'auto' },
      ],
      order: 'latency',
      allow: ['web_search'],
      onUnsupported: ['temperature', 'seed', 'name'],
      unknownFields: 'refuse',
      normalize: false,
      tools: { hosted: 'refuse' },
      reasoning: {
        supported_efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
        default_effort: 'medium',
        can_disable: true,
      },
      maxOutputTokens: 128_000,
      contextWindow: 400_000,
      cache: { ttl: '1h', maxSize: '256MB' },
      requestBodies: 'errors',
      price: {
        input: 1.25,
        cachedInput: 0.125,
        cacheWrite: 1.5,
        cacheWrite1h: 2.5,
        output: 10,
        cacheHit: 0.1,
        batch: 0.5,
        tiers: [{ above: 200_000, input: 2.5, cachedInput: 0.25, output: 15 }],
      },
    },
    'some-embedding-model': {
      type: 'embedding',
      routes: [{ provider: 'openai', model: 'upstream-name' }],
      dimensions: 3072,
      contextWindow: 8192,
      cache: { ttl: '24h', maxSize: '1GB' },
      price: { input: 0.13, cacheHit: 0.01 },
    },
    'some-family-*': {
      type: 'text',
      routes: [{ provider: 'anthropic', model: 'upstream-family-*' }],
      price: { input: 3, output: 15 },
    },
    'some-thinking-model': {
      type: 'text',
      rules: 'fixed-reasoning',
      routes: [{ provider: 'openai', model: 'upstream-thinker' }],
    },
    'some-image-model': {
      type: 'image',
      rules: 'native-size',
      routes: [{ provider: 'openai', model: 'upstream-image' }],
      price: { perImage: 4 },
    },
    'some-video-model': {
      type: 'video',
      routes: [{ provider: 'other', model: 'upstream-video' }],
      duration: 4,
      price: { perVideo: 10, perSecond: 2 },
    },
    'some-audio-model': {
      type: 'audio',
      routes: [{ provider: 'other', model: 'upstream-audio' }],
      price: { perRequest: 1 },
    },
    'some-transcription-model': {
      type: 'transcription',
      routes: [{ provider: 'openai', model: 'upstream-transcription' }],
      price: { perRequest: 1 },
    },
    'some-moderation-model': {
      type: 'moderation',
      routes: [{ provider: 'openai', model: 'upstream-moderation' }],
      price: { perRequest: 0 },
    },
  },
};

/** Columns of a line of comment, without its indentation. */
const WIDTH = 100;

const HEADER = `# yaml-language-server: $schema=./oriel.schema.json
#
# Every setting of Oriel with its default. npm run docs writes this file from the declarations in
# src/config. Copy what you want to change into an oriel.yaml of your own; settings that a file leaves
# out have the values below.
#
# Durations carry their unit (250ms, 30s, 10m, 1.5h, 7d), and so do sizes (512KB, 64MB, 2GB; 1 KB is
# 1000 bytes, 1 KiB 1024). \${NAME} stands for a variable of the environment, \${NAME:-text} gives it a default,
# and $\${ is written for \${ itself.
#
# Oriel reads --config, or else ORIEL_CONFIG, or else oriel.yaml in the folder it is started in.
# \`oriel config check\` names every fault; \`oriel config print\` shows the effective settings. On SIGHUP
# the daemon reads the file again; settings marked (restart) take effect at the next start.
`;

const indented = (lines) => lines.map((line) => `  ${line}`);
const commented = (lines) => lines.map((line) => `# ${line}`);

function comment(text) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (line.length <= WIDTH) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return commented(lines);
}

/** A value on one line. */
function inline(value) {
  const text = stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
  // yaml separates what is in brackets by spaces, too.
  return text.replace(/\[ (.*?) \]/g, '[$1]');
}

/** One setting with its description; commented out if neither it nor its section has a default. */
function settingLines(name, schema, isExample = false) {
  const { description, default: preset } = describeField(name, schema);
  const { restart, example } = metadataOf(schema);
  const about = comment(`${description}${restart ? ' (restart)' : ''}`);
  const isUnset = preset === undefined && !isExample;
  const children = childrenOf(schema, {});
  if (children === null || !('entries' in children)) {
    const examples = EXAMPLES[name];
    if (examples) return [...about, `${name}:`, ...indented(exampleLines(schema, examples))];
    const line = `${name}: ${inline(preset ?? example)}`;
    return [...about, ...(isUnset ? commented([line]) : [line])];
  }
  const section = [
    `${name}:`,
    ...indented(
      Object.entries(children.entries).flatMap(([key, entry]) =>
        settingLines(key, entry, preset === undefined),
      ),
    ),
  ];
  return [...about, ...(isUnset ? commented(section) : section)];
}

/** Named examples of a record, commented out. Each description is written where it is first needed. */
function exampleLines(schema, examples) {
  const written = new Set();
  const about = (entry) => {
    const { description } = describeField('', entry);
    if (description === '' || written.has(description)) return [];
    written.add(description);
    return comment(description);
  };
  return Object.entries(examples).flatMap(([name, example]) => {
    const record = childrenOf(schema, examples);
    const { entries } = childrenOf(record.each, example);
    const { kind } = entries;
    const above = kind ? about(kind) : [];
    const settings = Object.entries(example).flatMap(([key, value]) => [
      ...about(entries[key]),
      ...valueLines(key, value),
    ]);
    return [...above, ...commented([`${name}:`, ...indented(settings)])];
  });
}

function valueLines(name, value) {
  const line = `${name}: ${inline(value)}`;
  if (line.length <= WIDTH || typeof value !== 'object' || value === null) return [line];
  if (Array.isArray(value)) return [`${name}:`, ...value.map((item) => `  - ${inline(item)}`)];
  return [
    `${name}:`,
    ...indented(Object.entries(value).flatMap(([key, part]) => valueLines(key, part))),
  ];
}

/** The text of config/default.yaml: every setting with its description and its default. */
export function defaultFile() {
  const lines = [HEADER];
  for (const [name, schema] of Object.entries(configSchema.entries)) {
    lines.push(...settingLines(name, schema));
    // The formatter removes an empty line between comments.
    if (!lines.at(-1).trimStart().startsWith('#')) lines.push('');
  }
  return `${lines.join('\n').trimEnd()}\n`;
}
