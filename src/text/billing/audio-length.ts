/** Least bytes of a second of PCM that models take: 16 kHz, mono, 16 bits. */
const LEAST_PCM_RATE = 32_000;
/** Format tags of WAV files: PCM, and one whose format begins the GUID at byte 44. */
const PCM = 1;
const EXTENSIBLE = 0xff_fe;

/** Kilobits a second of layer III, by the index in a frame's header; 0 for a free bitrate. */
const MPEG_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const MPEG_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
/** Samples a second of MPEG 1, by the index in a frame's header; half and a quarter of them in MPEG 2 and 2.5. */
const SAMPLE_RATES = [44_100, 48_000, 32_000];

/** Bytes of the tag at the end of an MP3 file (ID3v1). */
const TRAILER = 128;

/**
 * The length of a sound, where its bytes bound it; null where only a header that the client wrote says it.
 * Those are WAV files of PCM, whose length grows with their bytes, and MP3 files, of which all frames are
 * read. Models take both from clients of chat completions.
 *
 * @returns seconds
 */
export function audioSeconds(base64: string): number | null {
  const start = Buffer.from(base64.slice(0, 88), 'base64');
  if (start.length < 44) return null;
  if (start.toString('latin1', 0, 4) === 'RIFF') return wavSeconds(start, base64.length * 0.75);
  return mp3Seconds(Buffer.from(base64, 'base64'));
}

function wavSeconds(start: Buffer, bytes: number): number | null {
  if (start.toString('latin1', 8, 16) !== 'WAVEfmt ') return null;
  const tag = start.readUInt16LE(20);
  const format = tag === EXTENSIBLE && start.length > 46 ? start.readUInt16LE(44) : tag;
  // A header with a higher rate than the provider reads by would make the sound seem shorter.
  const rate = Math.min(start.readUInt32LE(28), LEAST_PCM_RATE);
  return format === PCM && rate > 0 ? bytes / rate : null;
}

function mp3Seconds(bytes: Buffer): number | null {
  let at = tagLength(bytes);
  let seconds = 0;
  while (at < bytes.length) {
    const frame = bytes.length - at >= 4 ? frameOf(bytes.readUInt32BE(at)) : null;
    if (frame === null) {
      const isTrailer =
        bytes.length - at === TRAILER && bytes.toString('latin1', at, at + 3) === 'TAG';
      return isTrailer && seconds > 0 ? seconds : null;
    }
    seconds += frame.seconds;
    at += frame.bytes;
  }
  return seconds > 0 ? seconds : null;
}

/** Bytes of the tag at the start (ID3v2); 0 without one. */
function tagLength(bytes: Buffer): number {
  if (bytes.toString('latin1', 0, 3) !== 'ID3') return 0;
  let size = 0;
  for (let at = 6; at < 10; at += 1) size = size * 128 + (bytes[at]! & 127);
  return 10 + size;
}

/** A frame of layer III by its header (ISO 11172-3, section 2.4.1.3); null where it is none. */
function frameOf(header: number): { readonly bytes: number; readonly seconds: number } | null {
  const isLayer3 = header >>> 21 === 0x7ff && ((header >>> 17) & 3) === 1;
  const version = (header >>> 19) & 3;
  const rate = SAMPLE_RATES[(header >>> 10) & 3];
  if (!isLayer3 || version === 1 || rate === undefined) return null;
  const isMpeg1 = version === 3;
  const bitrate = (isMpeg1 ? MPEG_1 : MPEG_2)[(header >>> 12) & 15];
  if (!bitrate) return null;
  const samples = isMpeg1 ? 1152 : 576;
  const sampleRate = isMpeg1 ? rate : version === 2 ? rate / 2 : rate / 4;
  const padding = (header >>> 9) & 1;
  return {
    bytes: Math.floor((samples / 8) * ((bitrate * 1000) / sampleRate)) + padding,
    seconds: samples / sampleRate,
  };
}
