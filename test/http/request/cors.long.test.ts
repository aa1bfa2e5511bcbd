import { createServer } from 'node:http';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, sharedBrowser } from '../../browser.ts';
import { OWNER_KEY, sharedDaemon } from '../../daemon.ts';
import { sharedServer } from '../../fixtures/server.ts';
import { wav } from '../../media/media-files.ts';

/** A request of a page; bytes are a form's file, as base64. */
interface Asked {
  readonly path: string;
  readonly json?: object;
  readonly form?: Readonly<Record<string, string>>;
  readonly file?: string;
  readonly key?: string | null;
  readonly credentials?: 'include';
}

/** What the page can read of an answer; null where the browser refuses it all. */
interface Read {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

describe.skipIf(!hasChromium)('server.cors for pages in a browser', () => {
  const pages = sharedServer(
    createServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>A page</title>');
    }),
  );
  const browser = sharedBrowser();
  let listed: Page;
  let other: Page;
  const daemon = sharedDaemon({
    get config() {
      return { server: { cors: { origins: [pages()] } } };
    },
  });
  beforeAll(async () => {
    listed = await browser().newPage();
    await listed.goto(pages());
    other = await browser().newPage();
    await other.goto(pages().replace('127.0.0.1', 'localhost'));
  });
  afterAll(async () => {});

  /** Sends a request as a script of the page. */
  function ask(page: Page, asked: Asked): Promise<Read | null> {
    const request = { ...asked, url: daemon().url + asked.path, owner: OWNER_KEY };
    return page.evaluate(async ({ url, json, form, file, key, owner, credentials }) => {
      const headers: Record<string, string> = { 'x-stainless-lang': 'js' };
      if (key !== null) headers['authorization'] = `Bearer ${key ?? owner}`;
      let body: string | FormData | undefined;
      if (json) {
        headers['content-type'] = 'application/json';
        body = JSON.stringify(json);
      } else if (form) {
        body = new FormData();
        for (const [name, value] of Object.entries(form)) body.append(name, value);
        const bytes = Uint8Array.from(atob(file!), (character) => character.charCodeAt(0));
        body.append('file', new Blob([bytes]), 'a.wav');
      }
      try {
        const response = await fetch(url, {
          method: body === undefined ? 'GET' : 'POST',
          headers,
          ...(body !== undefined && { body }),
          ...(credentials && { credentials }),
        });
        const text = await response.text();
        return { status: response.status, headers: Object.fromEntries(response.headers), text };
      } catch {
        return null;
      }
    }, request);
  }

  const chat = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hi' }] };
  const image = { model: 'sandbox-image-any', prompt: 'waves', size: '64x64' };
  const speech = { model: 'sandbox-audio', input: 'Hello' };
  const transcription = { model: 'sandbox-transcription' };

  it.each<readonly [string, Asked, number, readonly string[], RegExp]>([
    ['a list', { path: '/v1/models' }, 200, ['x-ratelimit-limit-requests'], /sandbox-chat/],
    ['an answer', { path: '/v1/chat/completions', json: chat }, 200, [], /chat\.completion/],
    [
      'a stream',
      { path: '/v1/chat/completions', json: { ...chat, stream: true, seed: 1 } },
      200,
      ['x-ratelimit-remaining-requests'],
      /\[DONE\]/,
    ],
    [
      'a stream of images',
      {
        path: '/v1/images/generations',
        json: { ...image, stream: true, partial_images: 1 },
      },
      200,
      ['x-oriel-task', 'x-oriel-ignored'],
      /image_generation\.completed/,
    ],
    ['speech', { path: '/v1/audio/speech', json: speech }, 200, ['x-oriel-task'], /RIFF/],
    [
      'an upload',
      { path: '/v1/audio/transcriptions', form: transcription, file: wav().toString('base64') },
      200,
      [],
      /"text"/,
    ],
    ['an error of the key', { path: '/v1/models', key: null }, 401, [], /missing_api_key/],
    ['an error of a request', { path: '/v1/audio/speech', json: {} }, 400, [], /"param":"model"/],
    ['an unknown path', { path: '/v1/nothing' }, 404, [], /"error"/],
    [
      'an error of a stream',
      { path: '/v1/chat/completions', json: { model: 'none', messages: [], stream: true } },
      400,
      [],
      /"error"/,
    ],
  ])(
    'lets a page of a listed origin read %s, and no other page',
    async (_, asked, status, names, text) => {
      const read = await ask(listed, asked);
      expect(read).toMatchObject({ status, text: expect.stringMatching(text) });
      expect(Object.keys(read!.headers)).toEqual(
        expect.arrayContaining(['x-request-id', ...names]),
      );
      expect(await ask(other, asked)).toBeNull();
    },
  );

  it('lets no page send cookies', async () => {
    expect(await ask(listed, { path: '/v1/models', credentials: 'include' })).toBeNull();
  });
});
