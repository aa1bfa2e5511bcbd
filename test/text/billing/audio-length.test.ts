import { describe, expect, it } from 'vitest';
import { audioSeconds } from '../../../src/text/billing/audio-length.ts';

const base64 = (...parts: readonly Uint8Array[]) => Buffer.concat(parts).toString('base64');

/** A WAV file of silence. */
function wav(seconds: number, { rate = 24_000, channels = 1, tag = 1, name = 'WAVEfmt ' } = {}) {
  const header = Buffer.alloc(44);
  const bytes = rate * channels * 2;
  header.write('RIFF', 0, 'latin1');
  header.write(name, 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(tag, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(bytes, 28);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  return Buffer.concat([header, Buffer.alloc(Math.round(bytes * seconds))]);
}

/** MP3 frames of 128 kbit/s and 44.1 kHz, 1,152 samples each: 417 bytes without padding. */
function mp3(frames: number, header = 0xff_fb_90_00, bytes = 417) {
  const frame = Buffer.alloc(bytes);
  frame.writeUInt32BE(header);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}

const id3 = (bytes: number) =>
  Buffer.concat([
    Buffer.from([73, 68, 51, 4, 0, 0, 0, 0, bytes >> 7, bytes & 127]),
    Buffer.alloc(bytes),
  ]);

describe('the length of a sound', () => {
  it.each([
    ['a WAV file of 16 kHz', wav(10, { rate: 16_000 }), 10],
    ['a WAV file of 8 kHz', wav(10, { rate: 8000 }), 10],
    ['an MP3 file', mp3(1000), 26.12],
    ['an MP3 file with padding', mp3(1000, 0xff_fb_92_00, 418), 26.12],
    ['an MP3 file of MPEG 2', mp3(1000, 0xff_f3_80_00, 208), 26.12],
    [
      'an MP3 file with tags',
      Buffer.concat([id3(300), mp3(1000), Buffer.from('TAG'.padEnd(128))]),
      26.12,
    ],
  ])('of %s is known', (_, bytes, seconds) => {
    expect(audioSeconds(base64(bytes))).toBeCloseTo(seconds, 1);
  });

  it('of a WAV file is never less than at the lowest rate that models take', () => {
    // The header says a second of 192 kHz and eight channels; a provider may read 96 seconds of 16 kHz.
    expect(audioSeconds(base64(wav(1, { rate: 192_000, channels: 8 })))).toBeGreaterThan(96);
  });

  it.each([
    ['no bytes', Buffer.alloc(0)],
    ['three bytes', Buffer.alloc(3)],
    ['zeros', Buffer.alloc(10_000)],
    ['a WAV file of MP3', wav(1, { tag: 0x55 })],
    ['an extensible WAV file of silence, which is no PCM', wav(1, { tag: 0xff_fe })],
    ['an AVI file', wav(1, { name: 'AVI LIST' })],
    ['MP3 frames and other bytes', Buffer.concat([mp3(10), Buffer.alloc(1000)])],
    ['MP3 frames of a free bitrate', mp3(10, 0xff_fb_00_00)],
    ['layer II', mp3(10, 0xff_fd_90_00)],
    ['a reserved sample rate', mp3(10, 0xff_fb_9c_00)],
    ['a tag alone', id3(100)],
    ['a tag longer than the file', id3(100).subarray(0, 50)],
  ])('of %s is unknown', (_, bytes) => {
    expect(audioSeconds(base64(bytes))).toBeNull();
  });
});
