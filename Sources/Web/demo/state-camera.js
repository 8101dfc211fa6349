// The cameras of State, and sample pictures for devices without one. All pictures are upright.

import { h, hue } from "./ui.js";

const width = 1080;
const height = 1440;

/** The two sides, and what browsers call them. */
export const sides = { front: "user", rear: "environment" };

/** The camera of a side as a stream, or null: there is none, it is refused, or the page is not served securely. */
export async function openCamera(side) {
  try {
    return await navigator.mediaDevices.getUserMedia({
      audio: false, video: { facingMode: { ideal: sides[side] }, width: { ideal: 1280 }, height: { ideal: 1706 } },
    });
  } catch {
    return null;
  }
}

export const stop = (stream) => stream?.getTracks().forEach((track) => track.stop());

/** What the video shows, cut to upright. The front camera is mirrored, as it is seen while taking the picture. */
export function frameOf(video, side) {
  const canvas = h("canvas", { width, height });
  const pen = canvas.getContext("2d");
  const scale = Math.max(width / video.videoWidth, height / video.videoHeight);
  const [w, t] = [video.videoWidth * scale, video.videoHeight * scale];
  if (side === "front") {
    pen.translate(width, 0);
    pen.scale(-1, 1);
  }
  pen.drawImage(video, (width - w) / 2, (height - t) / 2, w, t);
  return canvas;
}

/** The canvas as a JPEG. */
export const asJpeg = (canvas) => new Promise((resolve, reject) => {
  canvas.toBlob((blob) => {
    if (blob) resolve(blob); else reject(new Error("this browser could not make a picture; try another browser"));
  }, "image/jpeg", 0.86);
});

function gradient(pen, ...colours) {
  const made = pen.createLinearGradient(0, 0, 0, height);
  colours.forEach((colour, index) => made.addColorStop(index / (colours.length - 1), colour));
  return made;
}

function disc(pen, colour, x, y, across, down = across) {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.ellipse(x, y, across, down, 0, 0, 2 * Math.PI);
  pen.fill();
}

/** Hills under a sky, different each time. */
function drawHills(pen) {
  const base = Math.floor(Math.random() * 360);
  pen.fillStyle = gradient(pen, `hsl(${base} 62% 52%)`, `hsl(${(base + 40) % 360} 80% 82%)`,
    `hsl(${(base + 60) % 360} 85% 90%)`);
  pen.fillRect(0, 0, width, height);
  disc(pen, `hsl(${(base + 60) % 360} 95% 94%)`, width * (0.3 + Math.random() * 0.4), height * 0.34,
    110 + Math.random() * 50);
  for (let layer = 0; layer < 5; layer += 1) {
    const phase = Math.random() * 6;
    pen.fillStyle = `hsl(${(base + 150 + layer * 10) % 360} 34% ${60 - layer * 10}%)`;
    pen.beginPath();
    pen.moveTo(0, height);
    for (let x = 0; x <= width; x += 12) {
      const wave = Math.sin(x / (170 + layer * 45) + phase) + 0.45 * Math.sin(x / 80 + 2 * phase);
      pen.lineTo(x, height * (0.52 + layer * 0.1) + wave * (62 - layer * 9));
    }
    pen.lineTo(width, height);
    pen.fill();
  }
}

const skins = ["#f6d3b8", "#e8b48f", "#c98a5e", "#9a623c", "#6d4227"];
const hairs = ["#2b1b14", "#5a3825", "#a8672f", "#d9b26a", "#8d8f96", "#7a2f1d"];

/** Somebody who smiles at the camera: the same person has the same colours. */
function drawPortrait(pen, name) {
  const tone = hue(name);
  const [skin, hair] = [skins[tone % skins.length], hairs[tone % hairs.length]];
  const lean = Math.round(Math.random() * 60 - 30);
  const [x, y] = [width / 2 + lean, height * 0.44];
  pen.fillStyle = gradient(pen, `hsl(${tone} 55% 78%)`, `hsl(${(tone + 30) % 360} 60% 62%)`);
  pen.fillRect(0, 0, width, height);
  disc(pen, `hsl(${(tone + 15) % 360} 60% 84% / 55%)`, width * 0.82, height * 0.16, 210);
  disc(pen, hair, x, y - 40, 300, 330);
  if (tone % 2) disc(pen, hair, x, y + 190, 330, 330);
  disc(pen, `hsl(${(tone + 180) % 360} 45% 42%)`, width / 2, height + 130, 500, 520);
  pen.fillStyle = skin;
  pen.fillRect(x - 85, y + 180, 170, 230);
  disc(pen, skin, x, y + 400, 130, 90);
  disc(pen, skin, x, y + 20, 235, 285);
  pen.fillStyle = hair;
  pen.beginPath();
  pen.ellipse(x, y - 150, 250, 150, 0, Math.PI, 2 * Math.PI);
  pen.quadraticCurveTo(x + 60, y - 175, x - 250, y - 60);
  pen.fill();
  for (const side of [-1, 1]) {
    disc(pen, "#ffffff", x + side * 92, y + 5, 40, 30);
    disc(pen, "#2b2320", x + side * 92 + lean / 5, y + 7, 19);
    disc(pen, "rgb(220 90 90 / 22%)", x + side * 130, y + 105, 52, 36);
  }
  pen.strokeStyle = "#7a2f2f";
  pen.lineWidth = 16;
  pen.lineCap = "round";
  pen.beginPath();
  pen.arc(x, y + 95, 82, 0.18 * Math.PI, 0.82 * Math.PI);
  pen.stroke();
}

/** A picture for devices without a camera, which says that it is one. */
export function drawSample(side, name) {
  const canvas = h("canvas", { width, height });
  const pen = canvas.getContext("2d");
  if (side === "front") drawPortrait(pen, name); else drawHills(pen);
  const text = `Sample of ${name}, ${new Date().toLocaleTimeString()}`;
  pen.font = "500 34px system-ui, sans-serif";
  pen.textAlign = "center";
  const wide = Math.min(width - 80, pen.measureText(text).width + 64);
  pen.fillStyle = "rgb(0 0 0 / 45%)";
  pen.beginPath();
  pen.roundRect(width - wide - 32, 32, wide, 68, 34);
  pen.fill();
  pen.fillStyle = "#ffffff";
  pen.fillText(text, width - wide / 2 - 32, 78, width - 120);
  return canvas;
}
