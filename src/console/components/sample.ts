import { u16, u32 } from './bytes.ts';

/** Files that examples send until the reader chooses others. */

/** A picture of colours and edges. */
async function samplePicture(): Promise<File> {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [320, 240];
  const context = canvas.getContext('2d')!;
  const sky = context.createLinearGradient(0, 0, 0, 240);
  sky.addColorStop(0, '#1d4e89');
  sky.addColorStop(0.7, '#f7b267');
  context.fillStyle = sky;
  context.fillRect(0, 0, 320, 240);
  context.fillStyle = '#0b2545';
  context.fillRect(0, 190, 320, 50);
  context.fillStyle = '#f4f4f4';
  context.fillRect(150, 90, 24, 100);
  const blob = await new Promise<Blob>((resolve, reject) => {
    canvas.toBlob((made) => (made ? resolve(made) : reject(new Error('no picture'))), 'image/png');
  });
  return new File([blob], 'sample.png', { type: 'image/png' });
}

const RATE = 8000;

/** Half a second of a tone, as WAV of 16 bits. */
function sampleSound(): File {
  const samples = Int16Array.from(
    { length: RATE / 2 },
    (_, index) => Math.sin((2 * Math.PI * 440 * index) / RATE) * 8000,
  );
  const { byteLength } = samples;
  const format = [u32(16), u16(1, 1), u32(RATE, RATE * 2), u16(2, 16)];
  const parts = ['RIFF', u32(36 + byteLength), 'WAVEfmt ', ...format, 'data', u32(byteLength)];
  return new File([...parts, samples], 'sample.wav', { type: 'audio/wav' });
}

/** Name of the file that an endpoint's example sends. */
export function sampleName(path: string): string {
  return path.startsWith('/v1/audio/') ? 'sample.wav' : 'sample.png';
}

export async function sampleFile(path: string): Promise<File> {
  return sampleName(path) === 'sample.wav' ? sampleSound() : samplePicture();
}
