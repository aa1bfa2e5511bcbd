import { expect, it } from 'vitest';
import { describeBytes, isText, sniffMedia } from '../../../src/media/files/media-type.ts';
import { photo } from '../../fixtures/images.ts';

const bytes = (text: string) => Buffer.from(text, 'latin1');

it.each([
  ['MP4', '\0\0\0\x20ftypisom\0\0\x02\0isomiso2', 'video/mp4', 'mp4'],
  ['MP4 by its second name', '\0\0\0\x20ftypmp42', 'video/mp4', 'mp4'],
  ['QuickTime', '\0\0\0\x14ftypqt  ', 'video/quicktime', 'mov'],
  ['old QuickTime', '\0\0\x10\0moov\0\0\0\x6cmvhd', 'video/quicktime', 'mov'],
  ['WebM', '\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm', 'video/webm', 'webm'],
  ['WAV', 'RIFF\x24\0\0\0WAVEfmt ', 'audio/wav', 'wav'],
  ['MP3 with a tag', 'ID3\x04\0\0', 'audio/mpeg', 'mp3'],
  ['MP3', '\xff\xfb\x90\x64', 'audio/mpeg', 'mp3'],
  ['AAC', '\xff\xf1\x50\x80', 'audio/aac', 'aac'],
  ['Ogg', 'OggS\0\x02\x01vorbis', 'audio/ogg', 'ogg'],
  ['Opus', 'OggS\0\x02OpusHead', 'audio/ogg', 'opus'],
  ['FLAC', 'fLaC\0\0\0\x22', 'audio/flac', 'flac'],
  ['M4A', '\0\0\0\x20ftypM4A \0', 'audio/mp4', 'm4a'],
])('sniffMedia detects %s', (_, head, mediaType, extension) => {
  expect(sniffMedia(bytes(head))).toEqual({ kind: mediaType.split('/')[0], mediaType, extension });
});

it.each([
  ['png', 'png'],
  ['jpeg', 'jpg'],
  ['webp', 'webp'],
  ['avif', 'avif'],
  ['gif', 'gif'],
  ['tiff', 'tiff'],
] as const)('sniffMedia detects %s', async (format, extension) => {
  const image = await photo({ width: 8, height: 8 }).toFormat(format).toBuffer();
  expect(sniffMedia(image)).toEqual({ kind: 'image', mediaType: `image/${format}`, extension });
});

it.each([
  ['nothing', '', 'empty'],
  ['HTML', '\n<!DOCTYPE html><html>', 'HTML'],
  ['JSON', '{"error": "no"}', 'JSON'],
  ['text', 'no such file', 'text'],
  ['text in UTF-16', '\xff\xfen\0o\0', 'of an unknown kind'],
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'SVG'],
  ['HEIC', '\0\0\0\x18ftypheic', 'HEIC'],
  ['animated AVIF', '\0\0\0\x18ftypavis', 'animated AVIF'],
  ['Matroska', '\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska', 'of an unknown kind'],
  ['AVI', 'RIFF\x24\0\0\0AVI LIST', 'of an unknown kind'],
  ['zeros', '\0'.repeat(600), 'of an unknown kind'],
  ['ones', '\xff'.repeat(600), 'of an unknown kind'],
])('sniffMedia rejects %s', (_, head, description) => {
  expect(sniffMedia(bytes(head))).toBeNull();
  expect(describeBytes(bytes(head))).toBe(description);
});

it('isText distinguishes text from samples', () => {
  expect(isText(Buffer.from('Größe: 3\r\n'))).toBe(true);
  expect(isText(Buffer.from([1, 0, 2, 0]))).toBe(false);
});
