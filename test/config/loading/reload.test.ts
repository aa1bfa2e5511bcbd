import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/loading/load.ts';
import { reloadConfig } from '../../../src/config/loading/reload.ts';
import { configFile, load } from '../configuration.ts';

function reloaded(before: string, after: string) {
  const file = configFile(before);
  const options = { file, env: {}, cwd: '/' };
  const previous = loadConfig(options);
  writeFileSync(file, after);
  return reloadConfig({ started: previous, current: previous }, options);
}

describe('reloadConfig', () => {
  it('returns the new configuration', () => {
    const { config, restart } = reloaded(
      'limits: { paid: { rpm: 1 } }',
      'limits: { paid: { rpm: 2 } }\nrouting: { retries: 1 }\nmodels: {}\nserver: { grace: 1s }',
    );
    expect(config.limits.paid.rpm).toBe(2);
    expect(config.models).toEqual({});
    expect(restart).toEqual([]);
  });

  it('returns the changed settings that take effect at the next start', () => {
    const { config, restart } = reloaded(
      'server: { port: 1 }\npool: { threads: 2 }\nbatch: { queue: 1 }',
      'server: { port: 2, trustProxy: [10.0.0.1], grace: 5s }\ndataDir: /elsewhere\npool:\nbatch: { queue: 1 }',
    );
    expect(restart).toEqual(['server.port', 'server.trustProxy', 'dataDir', 'pool.threads']);
    // The result has the value of the file, not the one in use.
    expect(config.server.port).toBe(2);
  });

  it('finds no change between equal values in other units', () => {
    const { restart } = reloaded(
      'server: { bodyLimit: 1MB, requestTimeout: 60s }',
      'server:\n  requestTimeout: 1m\n  bodyLimit: 1000KB\n  port: 8787',
    );
    expect(restart).toEqual([]);
  });

  describe('of a file that was cut off', () => {
    const provider = '{ kind: openai, baseUrl: "https://a.example/v1", apiKey: k }';
    const lines = [
      'limits:',
      '  paid: { rpm: 7 }',
      'providers:',
      `  one: ${provider}`,
      `  two: ${provider}`,
      'models:',
      '  first: { type: text, routes: [{ provider: one, model: m }] }',
      '  second:',
      '    type: text',
      '    routes: [{ provider: two, model: m }]',
      '    price: { input: 1, output: 2 }',
    ];
    const whole = `${lines.join('\n')}\n`;

    it.each(lines.map((_, count) => count))(
      'after line %i keeps the models or says so',
      (count) => {
        const cut = lines.slice(0, count).map((line) => `${line}\n`);
        const reload = () => reloaded(whole, cut.join(''));
        if (count < 7 || count === 8 || count === 9) {
          expect(reload).toThrow(expect.objectContaining({ code: 'invalid_config' }) as Error);
          return;
        }
        const { removedModels, warnings } = reload();
        expect(removedModels).toEqual(count < 10 ? ['second'] : []);
        expect(warnings).toContainEqual(expect.stringContaining('was it cut off'));
      },
    );

    it('within a line is refused, also where what is left of a value is valid', () => {
      const text = `${whole}server:\n  grace: 10s\nbatch:\n  queue: 120\n`;
      for (let length = text.indexOf('120') + 1; length < text.length - 1; length += 1) {
        expect(() => reloaded(text, text.slice(0, length))).toThrow('within a line');
      }
      const { config, warnings } = reloaded(text, text.slice(0, text.indexOf('batch')));
      expect(config.batch.queue).not.toBe(120);
      expect(warnings).toContainEqual(expect.stringContaining('was it cut off'));
      // A file without a line break at its end may have been shortened by its author.
      expect(reloaded(text.trimEnd(), text.slice(0, -2)).config.batch.queue).toBe(12);
    });

    it('does not let defaults take the place of other settings', () => {
      expect(() => reloaded('limits: { paid: { rpm: 7 } }', '')).toThrow(
        'the file has no settings',
      );
      expect(() => reloaded(whole, 'limits: { paid: { rpm: 7 } }')).toThrow(
        'neither providers nor models',
      );
      expect(
        reloaded(whole, `${lines.slice(0, 5).join('\n')}\nmodels: {}\n`).removedModels,
      ).toEqual(['first', 'second']);
    });
  });

  it('throws with every fault of an invalid file', () => {
    expect(() => reloaded('', 'pol: 1\nserver: { port: x }')).toThrow(
      /:1: pol: unknown.*\n.*:2: server\.port: expected/,
    );
    expect(() => reloaded('', ': : :\n - x')).toThrow(
      expect.objectContaining({ code: 'invalid_config', type: 'invalid_request' }) as Error,
    );
  });
});

describe('loadConfig', () => {
  it('returns a deeply frozen configuration', () => {
    const { config } = load('');
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      expect(Object.isFrozen(value)).toBe(true);
      for (const part of Object.values(value)) visit(part);
    };
    visit(config);
  });

  it('resolves dataDir from the folder of the file, or the working folder', () => {
    const env = {};
    const { config, file } = loadConfig({ env, cwd: '/nowhere' });
    expect({ dataDir: config.dataDir, file }).toEqual({ dataDir: '/nowhere/data', file: null });
    const elsewhere = load('dataDir: ../other');
    expect(elsewhere.config.dataDir).toBe('/tmp/other');
    expect(load('dataDir: /var/lib/oriel').config.dataDir).toBe('/var/lib/oriel');
  });

  it('removes the slashes at the end of URLs', () => {
    const { config } = load(
      'server: { publicUrl: "https://X.example:443/oriel//" }\nproviders: { p: { kind: oriel, baseUrl: "http://x.example/" } }',
    );
    expect(config.server.publicUrl).toBe('https://x.example/oriel');
    expect(config.providers['p']).toMatchObject({ baseUrl: 'http://x.example' });
  });
});
